package rawjson

import (
	"math"
	"strings"
	"testing"
)

func TestEdits(t *testing.T) {
	o := mustParse(t, `{"model": "m", "tools": [ 1.0 ], "x": {"y" : 1}, "stream": true}`)
	before := o.Clone()

	o.Set("tools", Array([]Value{String("a\"b"), Null}))
	o.Set("new", Int(-7))
	o.Delete("x")
	o.Delete("absent")
	want := `{"model":"m","tools":["a\"b",null],"stream":true,"new":-7}`
	if got := string(o.Bytes()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want = `{"model":"m","tools":[ 1.0 ],"x":{"y" : 1},"stream":true}`
	if got := string(before.Bytes()); got != want {
		t.Errorf("clone became %s, want %s", got, want)
	}
	if got := string(o.Append([]byte("data: "))); !strings.HasPrefix(got, `data: {"model"`) {
		t.Errorf("appended %s", got)
	}
	if !o.Has("new") || o.Has("x") || o.Get("x") != nil {
		t.Error("Has and Get disagree with the edits")
	}
}

func TestSetOfAbsentDeletes(t *testing.T) {
	o := mustParse(t, `{"a":1,"b":2}`)
	o.Set("a", o.Get("absent"))
	o.Set("c", nil)
	if got := string(o.Bytes()); got != `{"b":2}` {
		t.Errorf("got %s", got)
	}
}

func TestNew(t *testing.T) {
	o := New()
	if got := string(o.Bytes()); got != `{}` {
		t.Errorf("got %s", got)
	}
	o.Set("a\n\"\u2028<", Bool(true))
	o.Set("\xff", Bool(false))
	again := mustParse(t, string(o.Bytes()))
	if v, ok := again.Bool("a\n\"\u2028<"); !v || !ok {
		t.Errorf("got %s", o.Bytes())
	}
	if v, ok := again.Bool("\uFFFD"); v || !ok {
		t.Errorf("got %s", o.Bytes())
	}
}

func TestInt(t *testing.T) {
	for in, want := range map[string]int64{
		`0`: 0, `-0`: 0, `0.0`: 0, `0e999999999999999999999`: 0, `7`: 7, `-7`: -7, `1e3`: 1000, `1E+3`: 1000, `2.0`: 2,
		`2.50e1`: 25, `1200e-2`: 12, `0.001e3`: 1, `100000e-5`: 1, `1.000000000000000000000000000`: 1,
		`9223372036854775807`: math.MaxInt64, `-9223372036854775808`: math.MinInt64, `922337203685477580.7e1`: math.MaxInt64,
		`1e18`: 1e18, `9007199254740993`: 9007199254740993,
		`0.` + strings.Repeat("0", 1000) + `1e1001`: 1,
	} {
		o := mustParse(t, `{"n":`+in+`}`)
		if got, ok := o.Int("n"); !ok || got != want {
			t.Errorf("%.60s is %d, %v, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{
		`0.5`, `1e-1`, `1.25e1`, `1e400`, `1e19`, `9223372036854775808`, `-9223372036854775809`, `1e99999999999999999999`,
		`1e-99999999999999999999`, `"1"`, `null`, `true`, `[1]`, `{}`,
	} {
		o := mustParse(t, `{"n":`+in+`}`)
		if got, ok := o.Int("n"); ok {
			t.Errorf("%s is %d", in, got)
		}
	}
	if got, ok := New().Int("n"); ok {
		t.Errorf("absent is %d", got)
	}
}

func TestTypedGetters(t *testing.T) {
	o := mustParse(t, `{"s":"a\u00e9\ud83d\ude00\n\ud800","b":"x`+"\xff"+`","t":true,"f":false,"n":null,"o":{"k":[1,{}]},"a":["x"]}`)
	if got := o.Str("s"); got != "aé😀\n\uFFFD" {
		t.Errorf("s is %q", got)
	}
	if got := o.Str("b"); got != "x\uFFFD" {
		t.Errorf("b is %q", got)
	}
	for _, name := range []string{"t", "f", "n", "o", "a", "absent"} {
		if got := o.Str(name); got != "" {
			t.Errorf("%s is the string %q", name, got)
		}
		_, isBool := o.Bool(name)
		_, isArr := o.Arr(name)
		isObj := o.Obj(name) != nil
		if isBool != (name == "t" || name == "f") || isArr != (name == "a") || isObj != (name == "o") {
			t.Errorf("%s: bool %v, array %v, object %v", name, isBool, isArr, isObj)
		}
	}
	if v, _ := o.Bool("t"); !v {
		t.Error("true is false")
	}
	if vs, ok := o.Obj("o").Arr("k"); !ok || len(vs) != 2 {
		t.Errorf("o.k is %v", vs)
	}
	for _, name := range []string{"n", "absent"} {
		if !IsNull(o.Get(name)) {
			t.Errorf("%s is not null", name)
		}
	}
	if IsNull(o.Get("f")) {
		t.Error("false is null")
	}
}

func TestObjIsACopy(t *testing.T) {
	in := `{"o":{"k":1}}`
	o := mustParse(t, in)
	o.Obj("o").Set("k", Int(2))
	if got := string(o.Bytes()); got != in {
		t.Errorf("got %s", got)
	}
}

func TestStringAndUnquote(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "a": `"a"`, "é😀": `"é😀"`, "\"\\\n\x01\x7f": `"\"\\\n\u0001` + "\x7f\"", "</script>": `"</script>"`,
		"x\xffy": `"x` + "\uFFFD" + `y"`, "\u2028": "\"\u2028\"",
	} {
		v := String(in)
		if string(v) != want {
			t.Errorf("%q became %s, want %s", in, v, want)
		}
		if got, ok := Unquote(v); !ok || got != strings.ToValidUTF8(in, "\uFFFD") {
			t.Errorf("%s is %q", v, got)
		}
	}
	for _, v := range []Value{nil, Null, Int(1), Value(`[]`), Value(`{}`), Value(` "a"`), Value(`"`)} {
		if got, ok := Unquote(v); ok {
			t.Errorf("%q is the string %q", v, got)
		}
	}
}
