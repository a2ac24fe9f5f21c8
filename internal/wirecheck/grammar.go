package wirecheck

import (
	"fmt"
	"strings"
)

// Grammar returns the shape of a stream, to compare it with a recording's: a
// line for each event with its type and keys, and the type and keys of its
// item or the type of its part. Nothing that differs from run to run is in a
// line: no ids, numbers or texts. A run of equal deltas is one line.
func Grammar(events []Event) []string {
	var lines []string
	for _, e := range events {
		line := shape(e)
		if n := len(lines); n > 0 && lines[n-1] == line && strings.HasSuffix(e.Type, ".delta") {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func shape(e Event) string {
	m, err := decode(e.Data)
	if err != nil {
		return fmt.Sprintf("%s: %v", e.Type, err)
	}
	line := fmt.Sprintf("%s %v", e.Type, m.keys())
	if it := m.obj("item"); it != nil {
		line += fmt.Sprintf(" item %s %v", it.str("type"), it.keys())
	}
	if p := m.obj("part"); p != nil {
		line += fmt.Sprintf(" part %s", p.str("type"))
	}
	return line
}
