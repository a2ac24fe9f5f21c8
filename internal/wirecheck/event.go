// Package wirecheck is for tests only: it checks a Responses stream, as a
// client receives it, against what OpenAI's own streams have in common and
// what the strictest of the official SDKs (openai-node 7) insists on. It also
// has recorded streams.
package wirecheck

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// Event is one frame of a stream.
type Event struct {
	Type string
	Data []byte
}

// ParseStream takes a stream apart. It accepts frames exactly as OpenAI writes
// them, an event line and a data line with LF line ends, and comments, which
// it drops.
func ParseStream(raw []byte) ([]Event, error) {
	var events []Event
	for n, rest := 0, raw; len(rest) > 0; n++ {
		frame, after, found := bytes.Cut(rest, []byte("\n\n"))
		if !found {
			return events, fmt.Errorf("frame %d has no blank line after it: %.100q", n, frame)
		}
		rest = after
		if isComment(frame) {
			continue
		}
		e, err := parseFrame(frame)
		if err != nil {
			return events, fmt.Errorf("frame %d: %w: %.100q", n, err, frame)
		}
		events = append(events, e)
	}
	return events, nil
}

func isComment(frame []byte) bool {
	for line := range bytes.Lines(frame) {
		if line[0] != ':' {
			return false
		}
	}
	return len(frame) > 0 && !bytes.ContainsRune(frame, '\r')
}

func parseFrame(frame []byte) (Event, error) {
	lines := bytes.Split(frame, []byte{'\n'})
	switch {
	case bytes.ContainsRune(frame, '\r'):
		return Event{}, errors.New("has a carriage return")
	case len(lines) != 2:
		return Event{}, fmt.Errorf("has %d lines, not an event line and a data line", len(lines))
	}
	typ, isEvent := bytes.CutPrefix(lines[0], []byte("event: "))
	data, isData := bytes.CutPrefix(lines[1], []byte("data: "))
	if !isEvent || !isData {
		return Event{}, errors.New("is not an event line and a data line")
	}
	if _, err := rawjson.Parse(data); err != nil {
		return Event{}, fmt.Errorf("data is not a JSON object: %w", err)
	}
	return Event{string(typ), data}, nil
}
