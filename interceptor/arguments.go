package interceptor

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// readArguments takes the code out of complete arguments. Of duplicate keys
// the first string wins, as it does while the code streams.
func readArguments(arguments string) (code string, ok bool) {
	var r codeReader
	code = r.push(arguments)
	if !r.found || !r.closed {
		return "", false
	}
	if _, err := rawjson.ParseLenient([]byte(arguments)); err != nil {
		return "", false
	}
	return code, true
}

// codeReader decodes the "code" member of an arguments object while the
// object still arrives, whatever the split (decision 3): escapes and surrogate
// pairs may be cut anywhere.
type codeReader struct {
	state   readState
	depth   int    // of nested values that are skipped
	key     []byte // raw bytes of the key that is being read
	escaped bool   // a backslash came last, in a key or a skipped string
	esc     []byte // an escape of the code that is not complete yet
	high    rune   // a high surrogate that waits for its other half
	partial []byte // bytes of a rune that is not complete yet

	found  bool // the code has begun
	closed bool // the code has ended
	broken bool // this is no arguments object; nothing more is read
}

type readState int

const (
	beforeObject readState = iota
	beforeKey
	inKey
	beforeColon
	beforeValue
	inSkippedString
	inSkippedValue
	inCode
	afterValue
)

// push takes the next piece and returns the code it completes.
func (r *codeReader) push(piece string) string {
	var out []byte
	for n := 0; n < len(piece) && !r.broken && !r.closed; n++ {
		out = r.step(piece[n], out)
	}
	return string(out)
}

func (r *codeReader) step(c byte, out []byte) []byte {
	switch r.state {
	case inCode:
		return r.code(c, out)
	case inKey:
		switch {
		case r.escaped:
			r.escaped = false
			r.key = append(r.key, c)
		case c == '"':
			r.state = beforeColon
		default:
			r.escaped = c == '\\'
			r.key = append(r.key, c)
		}
	case inSkippedString:
		switch {
		case r.escaped:
			r.escaped = false
		case c == '\\':
			r.escaped = true
		case c == '"' && r.depth > 0:
			r.state = inSkippedValue
		case c == '"':
			r.state = afterValue
		}
	case inSkippedValue:
		r.skip(c)
	default:
		r.structure(c)
	}
	return out
}

// structure reads what stands between keys and values.
func (r *codeReader) structure(c byte) {
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
		return
	}
	switch {
	case r.state == beforeObject && c == '{', r.state == afterValue && c == ',':
		r.state = beforeKey
	case r.state == beforeKey && c == '"':
		r.state, r.key = inKey, r.key[:0]
	case r.state == beforeColon && c == ':':
		r.state = beforeValue
	case r.state == beforeValue && c == '"':
		r.state = inSkippedString
		if name, _ := rawjson.Unquote(rawjson.Value(`"` + string(r.key) + `"`)); name == "code" {
			r.state, r.found = inCode, true
		}
	case r.state == beforeValue:
		r.state = inSkippedValue
		r.skip(c)
	default:
		r.broken = true
	}
}

// skip passes over a value that is not a string.
func (r *codeReader) skip(c byte) {
	switch c {
	case '{', '[':
		r.depth++
	case '"':
		r.state = inSkippedString
	case '}', ']':
		if r.depth--; r.depth < 0 {
			r.broken = true // the object ended without code
		} else if r.depth == 0 {
			r.state = afterValue
		}
	case ',':
		if r.depth == 0 {
			r.state = beforeKey
		}
	}
}

// code decodes one byte of the code's JSON string.
func (r *codeReader) code(c byte, out []byte) []byte {
	if len(r.esc) > 0 {
		return r.escape(c, out)
	}
	switch {
	case c == '\\':
		out = r.flushPartial(out)
		r.esc = append(r.esc, c)
		return out
	case c == '"':
		r.closed = true
		return r.flushHigh(r.flushPartial(out))
	case c < utf8.RuneSelf:
		return append(r.flushHigh(r.flushPartial(out)), c)
	}
	out = r.flushHigh(out)
	r.partial = append(r.partial, c)
	for len(r.partial) > 0 && utf8.FullRune(r.partial) {
		d, size := utf8.DecodeRune(r.partial)
		out = utf8.AppendRune(out, d)
		r.partial = r.partial[:copy(r.partial, r.partial[size:])]
	}
	return out
}

var simpleEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (r *codeReader) escape(c byte, out []byte) []byte {
	r.esc = append(r.esc, c)
	if len(r.esc) == 2 && c != 'u' {
		plain, ok := simpleEscapes[c]
		if !ok {
			r.broken = true
			return out
		}
		r.esc = r.esc[:0]
		return append(r.flushHigh(out), plain)
	}
	if len(r.esc) < 6 {
		return out
	}
	var d rune
	for _, h := range r.esc[2:] {
		digit, ok := hexDigit(h)
		if !ok {
			r.broken = true
			return out
		}
		d = d<<4 | digit
	}
	r.esc = r.esc[:0]
	switch {
	case r.high != 0 && utf16.IsSurrogate(d) && d >= 0xDC00:
		pair := utf16.DecodeRune(r.high, d)
		r.high = 0
		return utf8.AppendRune(out, pair)
	case utf16.IsSurrogate(d) && d < 0xDC00:
		out = r.flushHigh(out)
		r.high = d
		return out
	default:
		return utf8.AppendRune(r.flushHigh(out), d) // a lone low half becomes U+FFFD
	}
}

func hexDigit(h byte) (rune, bool) {
	switch {
	case '0' <= h && h <= '9':
		return rune(h - '0'), true
	case 'a' <= h && h <= 'f':
		return rune(h-'a') + 10, true
	case 'A' <= h && h <= 'F':
		return rune(h-'A') + 10, true
	}
	return 0, false
}

// flushHigh gives up on a high surrogate whose other half did not come.
func (r *codeReader) flushHigh(out []byte) []byte {
	if r.high != 0 {
		r.high = 0
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}

// flushPartial gives up on a rune whose rest did not come.
func (r *codeReader) flushPartial(out []byte) []byte {
	for range r.partial {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	r.partial = r.partial[:0]
	return out
}
