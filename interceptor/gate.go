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

// MayConcern is the first half of the gate (decision 4): a scan that lets
// nearly every other request through without a parse. chained says that there
// are records which a previous_response_id or the id of a call could name.
func MayConcern(body []byte, chained bool) bool {
	return hasWords(body, chained) || escapesLetters(body)
}

// Words that a body of ours has at an underscore, which is rarer in prompts
// than any letter. bytes.Index falls back to comparing at every byte when its
// first byte is not rare enough, which costs several times as much
// (BenchmarkMayConcern).
const (
	toolWord  = "_interpreter" // of code_interpreter
	chainWord = "_response_id" // of previous_response_id
	callWord  = `"ci`          // before the underscore of a call's id
)

func hasWords(body []byte, chained bool) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(body[at:], '_')
		if next < 0 {
			return false
		}
		at += next
		after := body[at:]
		switch {
		case len(after) >= len(toolWord) && after[1] == 'i' && string(after[:len(toolWord)]) == toolWord:
			return true
		case !chained:
		case len(after) >= len(chainWord) && after[1] == 'r' && string(after[:len(chainWord)]) == chainWord:
			return true
		case at >= len(callWord) && string(body[at-len(callWord):at]) == callWord:
			return true
		}
	}
}

// Scanner is MayConcern for a body that is still being read: what was just
// read is in the processor's cache, which a scan of the whole would not be.
type Scanner struct {
	Chained bool
	Found   bool
	tail    []byte // of what was scanned, for words that are cut
}

// overlap is as long as the longest thing that is looked for.
const overlap = 16

// Write scans the next piece; it never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.Found {
		return len(p), nil
	}
	seam := append(s.tail, p[:min(len(p), overlap)]...)
	s.Found = MayConcern(seam, s.Chained) || MayConcern(p, s.Chained)
	if len(p) >= overlap {
		seam = append(seam[:0], p[len(p)-overlap:]...)
	}
	s.tail = append(s.tail[:0], seam[max(0, len(seam)-overlap):]...)
	return len(p), nil
}

// escapesLetters looks for letters spelled as \u00XX, as JSON may spell those
// of the name; ASCII letters and '_' all lie in 0x40 to 0x7f. It looks for the
// zero, since text in JSON has a backslash at every quote and line end.
func escapesLetters(body []byte) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(body[at:], '0')
		if next < 0 {
			return false
		}
		at += next
		if at < 2 || body[at-1] != 'u' || body[at-2] != '\\' || len(body)-at < 3 {
			continue
		}
		if body[at+1] == '0' && body[at+2] >= '4' && body[at+2] <= '7' {
			return true
		}
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
