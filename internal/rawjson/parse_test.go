package rawjson

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func mustParse(t *testing.T, data string) *Object {
	t.Helper()
	o, err := Parse([]byte(data))
	if err != nil {
		t.Fatalf("Parse(%.200q): %v", data, err)
	}
	return o
}

func TestBytesKeepsValues(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                               `{}`,
		" { \"a\" :\t[ 1 , 2 ]\r\n} ":      `{"a":[ 1 , 2 ]}`,
		`{"b":1,"a":2}`:                    `{"b":1,"a":2}`,
		`{"n":-0,"m":1e400,"k":1.0}`:       `{"n":-0,"m":1e400,"k":1.0}`,
		`{"n":12345678901234567890123}`:    `{"n":12345678901234567890123}`,
		`{"s":"\u00e9\/<>&\ud800"}`:        `{"s":"\u00e9\/<>&\ud800"}`,
		"{\"s\":\"a\xffb\"}":               "{\"s\":\"a\xffb\"}",
		`{"o":{ "x" : {"x":null} },"":""}`: `{"o":{ "x" : {"x":null} },"":""}`,
	} {
		for _, parse := range []func([]byte) (*Object, error){Parse, ParseLenient} {
			o, err := parse([]byte(in))
			if err != nil {
				t.Errorf("%q: %v", in, err)
			} else if got := string(o.Bytes()); got != want {
				t.Errorf("%q became %q, want %q", in, got, want)
			}
		}
	}
}

func TestNamesWithEscapes(t *testing.T) {
	o := mustParse(t, `{"\u0074ools":1,"tool\u005fchoice":2,"\ud83d\ude00":3}`)
	if got := o.Names(); !slices.Equal(got, []string{"tools", "tool_choice", "😀"}) {
		t.Fatalf("names %q", got)
	}
	o.Set("tools", Int(5))
	again := mustParse(t, string(o.Bytes()))
	if n, _ := again.Int("tools"); n != 5 || len(again.Names()) != 3 {
		t.Fatalf("got %s", o.Bytes())
	}
}

func TestDuplicatesFromClients(t *testing.T) {
	for in, want := range map[string]DuplicateError{
		`{"tools":1,"tools":2}`:                          {"tools", ""},
		`{"tools":1,"\u0074ools":2}`:                     {"tools", ""},
		`{"a":{"b":1,"c":2,"b":3}}`:                      {"b", "/a"},
		`{"a":[0,{"x/y":[{"k":1,"\u006b":1}]}]}`:         {"k", "/a/1/x~1y/0"},
		`{"a":1,"":{},"":{}}`:                            {"", ""},
		`{` + many(200) + `,"\u006b7":1}`:                {"k7", ""},
		`{"a":{` + many(200) + `,"k7":1}}`:               {"k7", "/a"},
		`{"\ud800":1,"\ud801":2}`:                        {"\uFFFD", ""},
		"{\"\xff\":1,\"\xfe\":2}":                        {"\uFFFD", ""},
		`{"input":[{"type":"message","type":"system"}]}`: {"type", "/input/0"},
	} {
		o, err := Parse([]byte(in))
		var dup *DuplicateError
		if !errors.As(err, &dup) || !errors.Is(err, ErrDuplicate) || *dup != want || o != nil {
			t.Errorf("%.100q: %v, want %v", in, err, want)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", want.Name)) {
			t.Errorf("%q does not name the member", err)
		}
	}
}

func TestDuplicateErrorIsShort(t *testing.T) {
	name := strings.Repeat("n", 1<<20)
	_, err := Parse([]byte(`{"` + name + `":{"` + name + `":1,"` + name + `":1}}`))
	if !errors.Is(err, ErrDuplicate) || len(err.Error()) > 400 {
		t.Errorf("%.500v", err)
	}
}

func many(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	return strings.Join(members, ",")
}

func TestDuplicatesFromUpstreams(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":2,"a":3}`:       `{"a":3,"b":2}`,
		`{"a":1,"b":2,"\u0061":3}`:  `{"a":3,"b":2}`,
		`{"a":{"x":1,"x":2},"b":1}`: `{"a":{"x":1,"x":2},"b":1}`,
		`{` + many(200) + `,"k0":"first","k70":"early","k199":"last"}`: strings.NewReplacer(
			`"k0":0,`, `"k0":"first",`, `"k70":70`, `"k70":"early"`, `"k199":199`, `"k199":"last"`,
		).Replace(`{` + many(200) + `}`),
	} {
		o, err := ParseLenient([]byte(in))
		if err != nil {
			t.Fatalf("%.100q: %v", in, err)
		}
		if got := string(o.Bytes()); got != want {
			t.Errorf("%.100q became %q, want %q", in, got, want)
		}
	}

	o, err := ParseLenient([]byte(`{"a":{"x":1,"x":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := o.Obj("a").Int("x"); n != 2 {
		t.Errorf("the last of nested duplicates is not taken")
	}
}

func TestRefused(t *testing.T) {
	for _, in := range []string{
		``, ` `, `null`, `[]`, `"a"`, `1`, `{`, `}`, `{]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`,
		`{,}`, `{a:1}`, `{'a':1}`, `{"a":01}`, `{"a":+1}`, `{"a":.5}`, `{"a":1.}`, `{"a":NaN}`, `{"a":tru}`,
		`{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":1}{}`, `{"a":1} x`, `{"a":1 "b":2}`, `{"a" 1}`, `{"a":[1,]}`,
		`{1:2}`, `{null:2}`, "\uFEFF{}", `{/**/}`, "{\"a\":1}\x00",
	} {
		for _, parse := range []func([]byte) (*Object, error){Parse, ParseLenient} {
			if o, err := parse([]byte(in)); err == nil || o != nil {
				t.Errorf("%q is accepted", in)
			}
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(`{"a":` + strings.Repeat(`[`, n-1) + strings.Repeat(`]`, n-1) + `}`)
	}
	for _, parse := range []func([]byte) (*Object, error){Parse, ParseLenient} {
		if _, err := parse(nested(10000)); err != nil {
			t.Errorf("10000 levels: %v", err)
		}
		if _, err := parse(nested(10001)); err == nil {
			t.Error("10001 levels are accepted")
		}
	}
}

func TestElements(t *testing.T) {
	vs, err := Elements(Value(` [ 1, "a" ,{"x": 1,"x":2},[ ],null ] `))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`1`, `"a"`, `{"x": 1,"x":2}`, `[ ]`, `null`}
	if len(vs) != len(want) {
		t.Fatalf("got %q", vs)
	}
	for i := range want {
		if string(vs[i]) != want[i] {
			t.Errorf("element %d is %q, want %q", i, vs[i], want[i])
		}
	}
	if got := string(Array(vs)); got != `[1,"a",{"x": 1,"x":2},[ ],null]` {
		t.Errorf("array %s", got)
	}
	if vs, err := Elements(Value(`[]`)); err != nil || vs == nil || len(vs) != 0 {
		t.Errorf("empty array: %v, %v", vs, err)
	}
	for _, in := range []string{``, `{}`, `null`, `[`, `[1`, `[1,]`, `[1]]`, `[,]`, `[1 2]`, `[}`} {
		if _, err := Elements(Value(in)); err == nil {
			t.Errorf("%q is accepted", in)
		}
	}
	if vs, err := Elements(nil); err == nil {
		t.Errorf("an absent array has elements %v", vs)
	}
}

// What a caller appends to a value must not reach the input.
func TestValuesHaveNoSpareCapacity(t *testing.T) {
	in := `{"a":"x","b":[1,2]}`
	o := mustParse(t, in)
	vs, _ := o.Arr("b")
	_ = append(o.Get("a"), "overwritten"...)
	_ = append(vs[0], "overwritten"...)
	if got := string(o.Bytes()); got != in {
		t.Errorf("input became %s", got)
	}
}
