package sse

import "strings"

// AppendEvent appends an event: an event line unless typ is empty, and a data
// line for each line of data.
func AppendEvent(dst []byte, typ string, data []byte) []byte {
	if typ != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, firstLine(typ)...)
		dst = append(dst, '\n')
	}
	return append(appendLines(dst, "data: ", data), '\n')
}

// AppendComment appends a comment, which clients skip.
func AppendComment(dst []byte, text string) []byte {
	return append(appendLines(dst, ": ", []byte(text)), '\n')
}

// firstLine keeps what comes after a line end from becoming a field.
func firstLine(s string) string {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return s[:i]
	}
	return s
}

// appendLines appends each line of text after prefix.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	scan := scanner{p: text, lf: -1, cr: -1}
	for pos := 0; ; {
		end := scan.lineEnd(pos)
		dst = append(dst, prefix...)
		dst = append(dst, text[pos:end]...)
		dst = append(dst, '\n')
		if end == len(text) {
			return dst
		}
		pos = end + 1
		if text[end] == '\r' && pos < len(text) && text[pos] == '\n' {
			pos++
		}
	}
}
