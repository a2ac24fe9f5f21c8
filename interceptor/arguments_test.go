package interceptor

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReadArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"code":"print(1)"}`:                         "print(1)",
		` { "x" : [1,{"code":"no"}], "code" : "a" }`:  "a",
		`{"x":{"y":"}"},"z":null,"code":"a\nb"}`:      "a\nb",
		`{"c\u006fde":"a"}`:                           "a",
		`{"code":"\ud83d\ude00 \u00e9 é 😀 \\ \/ \""}`: "😀 é é 😀 \\ / \"",
		`{"code":"\ud83d x \ude00"}`:                  "\uFFFD x \uFFFD",
		`{"code":"\ud83d\ud83d\ude00"}`:               "\uFFFD😀",
		`{"code":""}`:                                 "",
		`{"code":"a","code":"b"}`:                     "a",
	} {
		if got, ok := readArguments(arguments); !ok || got != want {
			t.Errorf("%s: %q %v", arguments, got, ok)
		}
	}
	// cases/litellm.md 31, A19
	for _, arguments := range []string{
		``, `null`, `"x"`, `[1]`, `5`, `{}`, `{"code":5}`, `{"code":null}`, `{"code":["a"]}`, `{"code":"a`, `{"code":"a"`, `{"code":"a"}}`,
		`{"code":"a\x"}`, `{"code":"\u12g4"}`, `print(1)`, `{"x":{"code":"a"}}`,
	} {
		if got, ok := readArguments(arguments); ok {
			t.Errorf("%s: %q is taken", arguments, got)
		}
	}
}

// FuzzArguments: however the arguments are cut, the same code comes out, and
// what encoding/json reads is what is read here.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"code":"a"}`, `{"x":[{"y":"\""}],"code":"\ud83d\ude00é\n"}`, `{"code":"\ud83dx"}`, `{"code":5}`, `{"a":"b","code":"c`, "{\"code\":\"\xf0\x9f\xff\"}"} {
		f.Add(s, uint64(0x5555))
		f.Add(s, uint64(0xffff))
	}
	f.Fuzz(func(t *testing.T, arguments string, cuts uint64) {
		var whole, cut codeReader
		want := whole.push(arguments)
		var got strings.Builder
		from := 0
		for n := 1; n <= len(arguments); n++ {
			if n == len(arguments) || cuts>>(n%64)&1 == 1 {
				got.WriteString(cut.push(arguments[from:n]))
				from = n
			}
		}
		if got.String() != want || cut.closed != whole.closed || cut.found != whole.found || cut.broken != whole.broken {
			t.Fatalf("%q whole is %q, cut is %q", arguments, want, got.String())
		}
		if !utf8.ValidString(want) {
			t.Fatalf("%q is not UTF-8", want)
		}
		encoded, err := json.Marshal(map[string]string{"code": arguments, "b": arguments})
		if err != nil {
			t.Fatal(err)
		}
		var std struct {
			Code string `json:"code"`
		}
		if err := json.Unmarshal(encoded, &std); err != nil {
			t.Fatal(err)
		}
		if code, ok := readArguments(string(encoded)); !ok || code != std.Code {
			t.Fatalf("%s is read as %q", encoded, code)
		}
		if code, ok := readArguments(cleanArguments(std.Code)); !ok || code != std.Code {
			t.Fatalf("%q does not come back: %q", std.Code, code)
		}
	})
}
