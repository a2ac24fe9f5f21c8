package codeinterp

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// What a body that does not concern us costs beside being copied.
func BenchmarkPassThrough(b *testing.B) {
	line := `The quick brown fox (see \"Fables\", p. 12) jumps over the lazy dog.\n\tfor i in range(10): print(i_count, x_2)\n`
	body := []byte(`{"input":"` + strings.Repeat(line, 4<<20/len(line)) + `"}`)
	buf := make([]byte, 32<<10)
	next := caddyhttp.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) error {
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r.Body}, buf)
		return err
	})
	w := httptest.NewRecorder()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/v1/responses", bytes.NewReader(body))
		rb, err := readBody(r, 64<<20, false)
		if err != nil || rb.words {
			b.Fatal(err, rb.words)
		}
		if err := rb.passThrough(w, r, next); err != nil {
			b.Fatal(err)
		}
		rb.release()
	}
}
