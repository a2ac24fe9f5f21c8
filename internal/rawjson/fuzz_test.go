package rawjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzParse compares with encoding/json, which takes the last of duplicates.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"b":[{"c":-0.0e10}],"a":"\ud800"}`, "{\"\xff\":\"\xfe\"}", `{"a":1,}`, `{"\u0061":{"b":{}},"a":1}`,
		` {"tools" : [ {"type":"code_interpreter"} ] , "x":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]any
		wantErr := decodeNumbers(data, &want)

		o, err := ParseLenient(data)
		if (err == nil) != (wantErr == nil && want != nil) {
			t.Fatalf("ParseLenient: %v, encoding/json: %v", err, wantErr)
		}
		strict, strictErr := Parse(data)
		if err != nil {
			if strictErr == nil {
				t.Fatalf("Parse accepts what ParseLenient refuses: %v", err)
			}
			return
		}
		out := o.Bytes()
		if strictErr == nil && !bytes.Equal(strict.Bytes(), out) {
			t.Fatalf("Parse gives %q, ParseLenient %q", strict.Bytes(), out)
		}

		var got map[string]any
		if err := decodeNumbers(out, &got); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q", data, out)
		}
		again, err := ParseLenient(out)
		if err != nil || !bytes.Equal(again.Bytes(), out) {
			t.Fatalf("%q became %q, %v", out, again.Bytes(), err)
		}
	})
}

// FuzzEdit checks that an edit leaves the other members alone.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"a": 1.0 ,"b":[ 2 ]}`), "b", "v")
	f.Add([]byte(`{"a":{"b":1}}`), "", "\xff")
	f.Fuzz(func(t *testing.T, data []byte, name, text string) {
		o, err := Parse(data)
		if err != nil {
			return
		}
		for _, edit := range []func(*Object){
			func(c *Object) { c.Set(name, String(text)) },
			func(c *Object) { c.Delete(name) },
		} {
			edited := o.Clone()
			edit(edited)
			reparsed, err := ParseLenient(edited.Bytes())
			if err != nil {
				t.Fatalf("%q: %v", edited.Bytes(), err)
			}
			for _, other := range o.Names() {
				if other != name && !bytes.Equal(edited.Get(other), o.Get(other)) {
					t.Fatalf("%q: member %q changed", edited.Bytes(), other)
				}
			}
			if len(reparsed.Names()) > len(edited.Names()) {
				t.Fatalf("%q has more members than expected", edited.Bytes())
			}
		}
	})
}

func decodeNumbers(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err == nil || err.Error() != "EOF" {
		return errTrailing
	}
	return nil
}
