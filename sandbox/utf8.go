package sandbox

import "unicode/utf8"

// decodeUTF8 replaces each invalid byte by U+FFFD. When b ends within a rune,
// that beginning is returned as rest.
func decodeUTF8(b []byte) (valid, rest []byte) {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if begin := b[len(b)-i:]; utf8.RuneStart(begin[0]) {
			if !utf8.FullRune(begin) {
				b, rest = b[:len(b)-i], begin
			}
			break
		}
	}
	if utf8.Valid(b) {
		return b, rest
	}
	valid = make([]byte, 0, len(b)+len(b)/2)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		valid = utf8.AppendRune(valid, r)
		b = b[size:]
	}
	return valid, rest
}

// clip makes s valid UTF-8 of at most n bytes, with "…" for what is cut off.
func clip(s string, n int) string {
	const ellipsis = "…"
	cut := len(s) > n
	valid, rest := decodeUTF8([]byte(s[:min(len(s), n)]))
	if !cut {
		for range rest {
			valid = utf8.AppendRune(valid, utf8.RuneError)
		}
	}
	if !cut && len(valid) <= n {
		return string(valid)
	}
	end := min(n-len(ellipsis), len(valid))
	for end < len(valid) && !utf8.RuneStart(valid[end]) {
		end--
	}
	return string(valid[:end]) + ellipsis
}
