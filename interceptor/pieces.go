package interceptor

import (
	"bytes"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// pieceReader unquotes the deltas of one text. Upstreams that count in UTF-16
// cut surrogate pairs, whose halves are no characters by themselves: a high
// one at the end waits for the next delta (design decision 2).
type pieceReader struct {
	half []byte // `\ud83d`, as it stood
}

func (p *pieceReader) text(delta rawjson.Value) string {
	if len(delta) < 2 || delta.Kind() != '"' {
		return ""
	}
	inner := append(p.half, delta[1:len(delta)-1]...)
	p.half = nil
	if cut := len(inner) - 6; endsInHighSurrogate(inner) {
		p.half = bytes.Clone(inner[cut:])
		inner = inner[:cut]
	}
	s, _ := rawjson.Unquote(rawjson.Value(`"` + string(inner) + `"`))
	return s
}

func endsInHighSurrogate(s []byte) bool {
	at := len(s) - 6
	if at < 0 || s[at] != '\\' || s[at+1] != 'u' || s[at+2]|0x20 != 'd' {
		return false
	}
	if !bytes.ContainsRune([]byte("89abAB"), rune(s[at+3])) {
		return false
	}
	before := len(s[:at]) - len(bytes.TrimRight(s[:at], `\`))
	return before%2 == 0 // else the backslash is escaped itself
}
