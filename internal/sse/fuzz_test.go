package sse

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzDecoderSplit decodes a stream whole and in pieces, and compares with a
// plain reading of the standard.
func FuzzDecoderSplit(f *testing.F) {
	for _, seed := range []string{
		"event: a\ndata: 1\n\n", "\uFEFF: c\r\ndata: 1\r\rdata: 2\r\n\r\n", "data\ndata:\n\nid: 1\nretry: 5\ndata: x", "\xEF\xBB:\n:c",
	} {
		f.Add(seed, uint64(0x9E3779B97F4A7C15), uint8(40))
	}
	f.Fuzz(func(t *testing.T, in string, cuts uint64, limit uint8) {
		whole, wholeErr := collect(int(limit), in)
		var pieces []string
		for rest := in; rest != ""; cuts = cuts>>3 | cuts<<61 {
			n := min(int(cuts%8), len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
			if cuts == 0 {
				pieces, rest = append(pieces, rest), ""
			}
		}
		split, splitErr := collect(int(limit), pieces...)
		if fmt.Sprint(split) != fmt.Sprint(whole) || !errors.Is(splitErr, wholeErr) {
			t.Fatalf("in pieces %q: %v, %v, whole: %v, %v", pieces, split, splitErr, whole, wholeErr)
		}

		unlimited, err := collect(1<<20, in)
		want, unterminated := read(in)
		if fmt.Sprint(unlimited) != fmt.Sprint(want) || errors.Is(err, ErrUnterminated) != unterminated {
			t.Fatalf("got %v, %v, want %v, unterminated %v", unlimited, err, want, unterminated)
		}
		if len(whole) > len(want) || fmt.Sprint(whole) != fmt.Sprint(want[:len(whole)]) {
			t.Fatalf("with a limit of %d: %v, want the start of %v", limit, whole, want)
		}
	})
}

// read follows section 9.2.6 of the standard, word for word. It also tells
// whether an event with data is not terminated.
func read(in string) (events []string, unterminated bool) {
	in = strings.TrimPrefix(in, "\uFEFF")
	in = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in)
	lines := strings.Split(in, "\n")
	var e Event
	var data strings.Builder
	hasData := false
	for i, line := range lines {
		last := i == len(lines)-1 // not followed by a line end
		field, value, colon := strings.Cut(line, ":")
		if colon {
			value = strings.TrimPrefix(value, " ")
		}
		switch {
		case line == "" && !last:
			if data.Len() > 0 {
				e.Data = []byte(strings.TrimSuffix(data.String(), "\n"))
				events = append(events, render(e))
			}
			e, hasData = Event{}, false
			data.Reset()
		case field == "event":
			e.Type = value
		case field == "data":
			data.WriteString(value + "\n")
			hasData = true
		case field == "id" && !strings.Contains(value, "\x00"):
			e.ID, e.HasID = value, true
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "":
			e.Retry = value
		}
	}
	return events, hasData
}
