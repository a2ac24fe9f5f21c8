package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrDuplicate is the kind of a DuplicateError.
var ErrDuplicate = errors.New("duplicate object member name")

// DuplicateError tells which name came twice.
type DuplicateError struct {
	Name string
	In   string // the object, as a JSON pointer (RFC 6901); "" is the outermost one
}

func (e *DuplicateError) Error() string {
	if e.In == "" {
		return fmt.Sprintf("duplicate object member name %.100q", e.Name)
	}
	return fmt.Sprintf("duplicate object member name %.100q within %.100q", e.Name, e.In)
}

func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

var (
	errNotObject = errors.New("JSON value is not an object")
	errNotArray  = errors.New("JSON value is not an array")
	errTrailing  = errors.New("JSON value is followed by more")
)

// Parse reads an object that a client sent. No name may come twice, at any
// depth, escapes considered: parsers differ in which one they take, so a
// duplicate could mean one thing here and another one upstream. Invalid UTF-8
// and lone surrogates pass.
func Parse(data []byte) (*Object, error) {
	return parse(data, jsontext.AllowInvalidUTF8(true))
}

// ParseLenient reads an object that an upstream sent. Of members with one name
// the last is taken, in the first's place. Values within keep their own
// duplicates.
func ParseLenient(data []byte) (*Object, error) {
	return parse(data, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

func parse(data []byte, opts ...jsontext.Options) (*Object, error) {
	d := decoder{data: data, Decoder: jsontext.NewDecoder(bytes.NewBuffer(data), opts...)}
	if err := d.open('{', errNotObject); err != nil {
		return nil, err
	}
	o := &Object{members: make([]member, 0, 16)}
	index := memberIndex{}
	for d.PeekKind() != '}' {
		quoted, err := d.next()
		if err != nil {
			return nil, err
		}
		value, err := d.next()
		if err != nil {
			return nil, err
		}
		name, _ := Unquote(quoted)
		if i := index.find(o, name); i >= 0 {
			o.members[i].value = value
			continue
		}
		o.members = append(o.members, member{name, quoted, value})
		index.add(o, name)
	}
	if err := d.close(); err != nil {
		return nil, err
	}
	return o, nil
}

// Elements returns the elements of an array.
func Elements(v Value) ([]Value, error) {
	d := decoder{data: v, Decoder: jsontext.NewDecoder(bytes.NewBuffer(v),
		jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))}
	if err := d.open('[', errNotArray); err != nil {
		return nil, err
	}
	vs := []Value{}
	for d.PeekKind() != ']' {
		v, err := d.next()
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	if err := d.close(); err != nil {
		return nil, err
	}
	return vs, nil
}

type decoder struct {
	*jsontext.Decoder
	data []byte
}

// open reads the start of an object or array.
func (d *decoder) open(kind jsontext.Kind, otherwise error) error {
	if got := d.PeekKind(); got != kind && got != jsontext.KindInvalid {
		return otherwise
	}
	_, err := d.ReadToken()
	return asDuplicate(err)
}

// next returns the next name or value, as a part of the input: what ReadValue
// returns is said to be valid only until the next call.
func (d *decoder) next() (Value, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, asDuplicate(err)
	}
	end := int(d.InputOffset())
	return d.data[end-len(v) : end : end], nil
}

// close reads the end, after which there must be nothing.
func (d *decoder) close() error {
	if _, err := d.ReadToken(); err != nil {
		return asDuplicate(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return errTrailing
	}
	return nil
}

func asDuplicate(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		var at *jsontext.SyntacticError
		if errors.As(err, &at) {
			return &DuplicateError{Name: at.JSONPointer.LastToken(), In: string(at.JSONPointer.Parent())}
		}
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// fewMembers is how many members are searched one by one.
const fewMembers = 64

// memberIndex finds earlier members while an object is parsed.
type memberIndex map[string]int

func (m *memberIndex) find(o *Object, name string) int {
	if len(o.members) <= fewMembers {
		return o.find(name)
	}
	if i, ok := (*m)[name]; ok {
		return i
	}
	return -1
}

// add notes the last member.
func (m *memberIndex) add(o *Object, name string) {
	switch n := len(o.members); {
	case n <= fewMembers:
	case len(*m) == 0:
		for i := range o.members {
			(*m)[o.members[i].name] = i
		}
	default:
		(*m)[name] = n - 1
	}
}
