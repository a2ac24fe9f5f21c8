// Package rawjson edits JSON objects without decoding what is not touched:
// members keep their order, and values their bytes, so that number precision,
// escapes and unknown members survive.
//
// Values alias the input they were parsed from. Neither they nor the input may
// be modified.
//
// Nesting is bounded: jsontext refuses more than 10000 levels.
package rawjson

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a JSON value as it was written. A nil Value is an absent one.
type Value = jsontext.Value

// Object is a JSON object. The zero value is an empty one. It is not safe for
// concurrent use when one of the uses is an edit.
type Object struct {
	members []member
}

type member struct {
	name   string // decoded
	quoted []byte // as it was written
	value  Value
}

// New returns an empty object.
func New() *Object { return &Object{} }

func (o *Object) find(name string) int {
	for i := range o.members {
		if o.members[i].name == name {
			return i
		}
	}
	return -1
}

// Get returns nil when there is no such member.
func (o *Object) Get(name string) Value {
	if i := o.find(name); i >= 0 {
		return o.members[i].value
	}
	return nil
}

func (o *Object) Has(name string) bool { return o.find(name) >= 0 }

// Set replaces a member in its place, or appends one. v must be valid JSON. A
// nil v deletes the member, as setting what another object does not have.
func (o *Object) Set(name string, v Value) {
	if v == nil {
		o.Delete(name)
		return
	}
	if i := o.find(name); i >= 0 {
		o.members[i].value = v
		return
	}
	o.members = append(o.members, member{name: name, quoted: String(name), value: v})
}

func (o *Object) Delete(name string) {
	if i := o.find(name); i >= 0 {
		o.members = slices.Delete(o.members, i, i+1)
	}
}

// Names returns the names in their order.
func (o *Object) Names() []string {
	names := make([]string, len(o.members))
	for i := range o.members {
		names[i] = o.members[i].name
	}
	return names
}

// Clone returns a copy to edit. Values are shared, since nobody modifies them.
func (o *Object) Clone() *Object {
	return &Object{members: slices.Clone(o.members)}
}

// Bytes returns the object without whitespace between its members.
func (o *Object) Bytes() []byte {
	size := len(`{}`)
	for i := range o.members {
		size += len(o.members[i].quoted) + len(o.members[i].value) + len(`:,`)
	}
	return o.Append(make([]byte, 0, size))
}

// Append appends what Bytes returns.
func (o *Object) Append(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range o.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, o.members[i].quoted...)
		dst = append(dst, ':')
		dst = append(dst, o.members[i].value...)
	}
	return append(dst, '}')
}

// Str returns "" unless the member is a string.
func (o *Object) Str(name string) string {
	s, _ := Unquote(o.Get(name))
	return s
}

// Int returns a number that is whole, however it is written: 1000, 1e3, 1000.0.
func (o *Object) Int(name string) (int64, bool) { return parseInt(o.Get(name)) }

func (o *Object) Bool(name string) (value, ok bool) {
	v := string(o.Get(name))
	return v == "true", v == "true" || v == "false"
}

// Obj returns a copy of the member to edit, parsed as ParseLenient does, or
// nil unless it is an object.
func (o *Object) Obj(name string) *Object {
	if v := o.Get(name); v.Kind() == '{' {
		if obj, err := ParseLenient(v); err == nil {
			return obj
		}
	}
	return nil
}

// Arr returns the elements of a member that is an array.
func (o *Object) Arr(name string) ([]Value, bool) {
	vs, err := Elements(o.Get(name))
	return vs, err == nil
}
