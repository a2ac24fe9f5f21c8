package interceptor

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// encodedIn answers with a body in a content coding that nobody asked for.
func encodedIn(coding string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Encoding", coding)
		h.Set("ETag", `"1"`)
		h.Set("X-Request-Id", "req_1")
		_, _ = w.Write(body)
	})
}

func TestUpstreamThatCompressesUnasked(t *testing.T) {
	plain := []byte(completed("resp_1", msg("msg_1", "ok")).json())
	var zipped, zstded bytes.Buffer
	g := gzip.NewWriter(&zipped)
	_, _ = g.Write(plain)
	_ = g.Close()
	z, _ := zstd.NewWriter(&zstded)
	_, _ = z.Write(plain)
	_ = z.Close()
	for coding, body := range map[string][]byte{"gzip": zipped.Bytes(), "zstd": zstded.Bytes(), "identity": plain} {
		b := newTestbed(t, encodedIn(coding, body))
		w := b.post(ask("hi", ""))
		if w.Code != 200 || types(decode(t, w.Body.Bytes())) != "message" {
			t.Errorf("%s: %d %s", coding, w.Code, w.Body)
		}
		h := w.Header()
		if h.Get("Content-Encoding") != "" || h.Get("ETag") != "" || h.Get("X-Request-Id") != "req_1" {
			t.Errorf("%s: headers %v", coding, h)
		}
	}
	var bomb bytes.Buffer
	g = gzip.NewWriter(&bomb)
	_, _ = g.Write(make([]byte, 2<<20))
	_ = g.Close()
	for coding, body := range map[string][]byte{"gzip": bomb.Bytes(), "zstd": []byte("no zstd"), "br": plain} {
		b := newTestbed(t, encodedIn(coding, body))
		if w := b.post(ask("hi", "")); w.Code != http.StatusBadGateway {
			t.Errorf("%s: %d %s", coding, w.Code, w.Body)
		}
	}
}

// decision 5: a first turn that is too large fails cleanly, in every form.
func TestAnswerThatIsTooLarge(t *testing.T) {
	deltas := completed("resp_1", msg("msg_1", strings.Repeat("x", 20000))).stream()
	for name, answer := range map[string]string{
		"JSON":         `{"output":[],"x":"` + strings.Repeat("x", 1<<20) + `"}`,
		"an event":     "data: {\"x\":\"" + strings.Repeat("x", 1<<20) + "\"}\n\n",
		"the sum":      deltas,
		"endless line": "data: " + strings.Repeat("x", 1<<20),
	} {
		b := newTestbed(t, script(answer))
		w := b.post(ask("hi", ""))
		if e, _ := decode(t, w.Body.Bytes())["error"].(map[string]any); w.Code != http.StatusBadGateway || e["code"] != "upstream_too_large" {
			t.Errorf("%s: %d %s", name, w.Code, clip(w.Body.String(), 300))
		}
		if b.up = script(answer); name == "the sum" {
			b.up = inWrites([][]string{strings.SplitAfter(answer, "\n\n")}, nil)
		}
		w = b.post(ask("hi", `,"stream":true`))
		if !strings.Contains(w.Body.String(), "upstream_too_large") {
			t.Errorf("%s, streamed: %d %s", name, w.Code, clip(w.Body.String(), 300))
		}
		if name == "the sum" {
			isFailure(t, terminal(t, clientEvents(t, w.Body.String())), "upstream_too_large")
		}
	}
}

// decision 5: so does one with too many calls or items.
func TestTurnWithTooManyItems(t *testing.T) {
	var calls, messages []string
	for n := range maxCallsPerTurn + 1 {
		calls = append(calls, code(strings.Repeat("x", n+1), "a"))
	}
	for n := range maxItemsPerTurn + 1 {
		messages = append(messages, `{"type":"message","id":"`+strings.Repeat("m", n%9)+`"}`)
	}
	for _, items := range [][]string{calls, messages} {
		b := newTestbed(t, script(completed("resp_1", items...).json()))
		if w := b.post(ask("hi", "")); w.Code != http.StatusBadGateway || b.fake.Created() != 0 {
			t.Errorf("%d %s", w.Code, clip(w.Body.String(), 300))
		}
	}
}

// decision 19.
func TestHeadersOfAStream(t *testing.T) {
	b := newTestbed(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Content-Length", "5")
		h.Set("X-Request-Id", "req_1")
		_, _ = w.Write([]byte(completed("resp_1", msg("msg_1", "ok")).stream()))
	}))
	h := b.post(ask("hi", `,"stream":true`)).Header()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no", "Cache-Control": "no-cache",
		"Content-Length": "", "X-Request-Id": "req_1",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}
