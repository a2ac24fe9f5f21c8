package wirecheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// object is a decoded JSON object. Numbers are json.Number, so that they are
// compared as written.
type object map[string]any

func decode(data []byte) (object, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("invalid UTF-8")
	}
	if _, err := rawjson.Parse(data); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var o object
	err := d.Decode(&o)
	return o, err
}

func (o object) has(key string) bool {
	_, ok := o[key]
	return ok
}

func (o object) str(key string) string {
	s, _ := o[key].(string)
	return s
}

func (o object) isStr(key string) bool {
	_, ok := o[key].(string)
	return ok
}

// obj returns an empty object unless the member is one.
func (o object) obj(key string) object {
	m, _ := o[key].(map[string]any)
	return m
}

func (o object) list(key string) ([]any, bool) {
	l, ok := o[key].([]any)
	return l, ok
}

func (o object) isEmptyList(key string) bool {
	l, ok := o.list(key)
	return ok && len(l) == 0
}

// is tells whether the member is the whole number n.
func (o object) is(key string, n int) bool {
	number, ok := o[key].(json.Number)
	return ok && number.String() == strconv.Itoa(n)
}

func (o object) keys() []string {
	return slices.Sorted(maps.Keys(o))
}

// without returns a copy without a member.
func (o object) without(key string) map[string]any {
	c := maps.Clone(o)
	delete(c, key)
	return c
}

// difference names the first member that is not equal in both.
func difference(a, b object) string {
	for _, key := range slices.Concat(a.keys(), b.keys()) {
		if a.has(key) != b.has(key) || !reflect.DeepEqual(a[key], b[key]) {
			return key
		}
	}
	return ""
}
