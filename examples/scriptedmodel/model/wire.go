package model

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// marshal encodes without escaping <, > and &, as OpenAI does.
func marshal(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only values made here are encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// newID returns an id of OpenAI's form: 50 hex digits after the prefix.
func newID(prefix string) string {
	b := make([]byte, 25)
	_, _ = rand.Read(b) // never fails
	return prefix + hex.EncodeToString(b)
}

// newCallID returns "call_" and 24 letters and digits.
func newCallID() string {
	return "call_" + rand.Text()[:24]
}

// tokens is the length of a text in the model's own tokens.
func tokens(s string) int {
	return (utf8.RuneCountInString(s) + 3) / 4
}

// pieces cuts a text into deltas of a few runes each. The sizes change, so
// that escapes and surrogate pairs are cut in every place sooner or later.
func pieces(s string) []string {
	sizes := []int{3, 1, 7, 2, 5}
	var cut []string
	for i := 0; len(s) > 0; i++ {
		end := 0
		for range sizes[i%len(sizes)] {
			if end == len(s) {
				break
			}
			_, n := utf8.DecodeRuneInString(s[end:])
			end += n
		}
		cut, s = append(cut, s[:end]), s[end:]
	}
	return cut
}

// padding returns the obfuscation of a delta: what fills it up to a multiple
// of 16 characters.
func padding(delta string) string {
	missing := -utf8.RuneCountInString(delta) & 15
	return strings.Repeat("x", missing)
}

// stream writes server-sent events.
type stream struct {
	ctx   context.Context
	w     http.ResponseWriter
	delay time.Duration
}

func newStream(w http.ResponseWriter, r *http.Request, delay time.Duration) *stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Request-Id", newID("req_"))
	w.WriteHeader(http.StatusOK)
	return &stream{ctx: r.Context(), w: w, delay: delay}
}

// send writes one event, with an event line if it has a name.
func (s *stream) send(name string, data []byte) {
	if s.ctx.Err() != nil {
		return
	}
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	_ = http.NewResponseController(s.w).Flush()
}

// pause waits between two deltas.
func (s *stream) pause() {
	if s.delay <= 0 {
		return
	}
	select {
	case <-s.ctx.Done():
	case <-time.After(s.delay):
	}
}
