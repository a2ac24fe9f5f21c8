package interceptor

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// Kind is what a path asks for.
type Kind int

const (
	// KindNone is a path that does not concern us.
	KindNone Kind = iota
	// KindResponses is POST …/responses: the loop.
	KindResponses
	// KindInputTokens and KindCompact are rewritten and forwarded once.
	KindInputTokens
	KindCompact
)

// KindOf reads the path of a POST request.
func KindOf(path string) Kind {
	switch {
	case strings.HasSuffix(path, "/responses"):
		return KindResponses
	case strings.HasSuffix(path, "/responses/input_tokens"):
		return KindInputTokens
	case strings.HasSuffix(path, "/responses/compact"):
		return KindCompact
	default:
		return KindNone
	}
}

// Inspect is the second half of the gate: it reports whether the body's tools
// hold the native tool, or whether it names an item or a response of ours. It
// reads as leniently as an upstream might, so that nothing slips past the
// rewrite; what it lets through goes on byte for byte, malformed or not.
func (i *Interceptor) Inspect(body []byte, owner sandbox.Owner) bool {
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return false
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		switch key {
		case "tools":
			if hasType(value, "code_interpreter", i.mayServe) {
				return true
			}
		case "input":
			if hasType(value, "code_interpreter_call", i.ours) || i.refers(value, owner) {
				return true
			}
		case "previous_response_id":
			if id, ok := rawjson.Unquote(value); ok && i.Records.Has(owner, id) {
				return true
			}
		}
	}
}

// ours reports whether a code_interpreter_call ran in a container of this
// pool; without the tool in the request, others are the upstream's business.
func (i *Interceptor) ours(item *rawjson.Object) bool {
	return i.Pool.Minted(item.Str("container_id"))
}

// mayServe reports whether a native tool is for us: its container is not the
// id of another's, which only the upstream can know (decision 9).
func (i *Interceptor) mayServe(tool *rawjson.Object) bool {
	id, ok := rawjson.Unquote(tool.Get("container"))
	return !ok || id == "" || i.Pool.Minted(id)
}

// refers reports whether the input refers to a call of ours by its id.
func (i *Interceptor) refers(input rawjson.Value, owner sandbox.Owner) bool {
	if i.Records.Empty() {
		return false
	}
	elements, _ := rawjson.Elements(input)
	for _, e := range elements {
		if e.Kind() != '{' {
			continue
		}
		if o, err := rawjson.ParseLenient(e); err == nil && i.refersToOurs(owner, o) {
			return true
		}
	}
	return false
}

// hasType reports whether the array holds an object of the type that also
// satisfies the condition.
func hasType(array rawjson.Value, typ string, also func(*rawjson.Object) bool) bool {
	elements, err := rawjson.Elements(array)
	if err != nil {
		return false
	}
	for _, e := range elements {
		if e.Kind() != '{' {
			continue
		}
		o, err := rawjson.ParseLenient(e)
		if err == nil && (o.Str("type") == typ || bytesHaveType(e, typ)) && (also == nil || also(o)) {
			return true
		}
	}
	return false
}

// bytesHaveType looks for the type among all duplicates of the member.
func bytesHaveType(object rawjson.Value, typ string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		name, _ := d.ReadToken()
		key := name.String()
		v, err := d.ReadValue()
		if err != nil {
			return false
		}
		if s, ok := rawjson.Unquote(v); ok && key == "type" && s == typ {
			return true
		}
	}
	return false
}
