package wirecheck

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed testdata/*.sse testdata/quirks.jsonl
var testdata embed.FS

// Recording returns the events of a stream that OpenAI sent:
//
//	01  three calls with outputs, a message with a citation
//	03  three calls in a row without outputs, a reasoning summary
//	05  calls and messages by turns, files, an inline image
//	09  a function call
func Recording(name string) []Event {
	events, err := ParseStream(RecordingSSE(name))
	if err != nil {
		panic(fmt.Sprintf("recording %s: %v", name, err))
	}
	return events
}

// RecordingSSE returns a recording's bytes.
func RecordingSSE(name string) []byte {
	raw, err := testdata.ReadFile("testdata/" + name + ".sse")
	if err != nil {
		panic(err)
	}
	return raw
}

// Quirk is a stream of a Responses upstream that does something unexpected.
type Quirk struct {
	Vendor, Note string
	SSE          []byte
}

// Quirks returns recorded quirks.
func Quirks() []Quirk {
	raw, err := testdata.ReadFile("testdata/quirks.jsonl")
	if err != nil {
		panic(err)
	}
	var quirks []Quirk
	for line := range bytes.Lines(raw) {
		var q struct {
			Vendor, Note string
			SSE          string `json:"raw_sse"`
		}
		if err := json.Unmarshal(line, &q); err != nil {
			panic(err)
		}
		quirks = append(quirks, Quirk{q.Vendor, q.Note, []byte(q.SSE)})
	}
	return quirks
}
