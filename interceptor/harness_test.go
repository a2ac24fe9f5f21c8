package interceptor

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// internalName is distinctive, so that it can be searched for in everything
// that a client gets.
const internalName = "zz_internal_python_7391"

var someone = sandbox.Owner{Scope: "s", Kind: "key", Value: "someone"}

// testbed is an interceptor before an upstream, for tests of the protocol. The
// sandbox is a fake one: what code does is tested on the real one.
type testbed struct {
	t    *testing.T
	i    *Interceptor
	fake *sandboxtest.Fake
	up   http.Handler
	sent [][]byte // bodies that went upstream
}

func newTestbed(t *testing.T, up http.Handler) *testbed {
	t.Helper()
	b := &testbed{t: t, fake: &sandboxtest.Fake{}, up: up}
	b.fake.OnRun = func(_ context.Context, _ *sandboxtest.FakeContainer, code string, emit func(sandbox.Output)) (sandbox.Result, error) {
		emit(sandbox.Output{Kind: sandbox.Text, Text: "ran " + code + "\n"})
		return sandbox.Result{}, nil
	}
	pool := sandbox.NewPool(b.fake, zap.NewNop())
	b.i = &Interceptor{
		Config: Config{
			ToolName: internalName, ToolDescription: "Runs Python.",
			MaxTurns: 20, MaxExecutions: 40, RequestTimeout: time.Minute,
			MaxResponse: 1 << 20, MaxEvent: 1 << 20, MaxCode: 1 << 16, MaxOutput: 1 << 12,
			Keepalive: time.Minute,
			Limits:    sandbox.Limits{TTL: time.Minute, ExecTimeout: 10 * time.Second},
		},
		Pool: pool, Records: NewRecords(), Log: zap.NewNop(),
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := pool.Close(ctx); err != nil {
			t.Errorf("closing the pool: %v", err)
		}
		if n := b.fake.Live(); n != 0 {
			t.Errorf("%d containers are left", n)
		}
	})
	return b
}

// Turn implements Upstream by calling the handler.
func (b *testbed) Turn(ctx context.Context, body []byte, answer Answer) error {
	b.sent = append(b.sent, bytes.Clone(body))
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/responses", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := &answerWriter{answer: answer, header: http.Header{}}
	b.up.ServeHTTP(w, r)
	if w.err == nil && !w.started {
		w.WriteHeader(http.StatusOK)
	}
	return w.err
}

// answerWriter is what package codeinterp's capture is in production.
type answerWriter struct {
	answer  Answer
	header  http.Header
	started bool
	err     error
}

func (w *answerWriter) Header() http.Header { return w.header }
func (w *answerWriter) Flush()              {}
func (w *answerWriter) WriteHeader(status int) {
	if !w.started {
		w.started = true
		w.err = w.answer.Start(status, w.header)
	}
}

func (w *answerWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.answer.Write(p)
	w.err = err
	return n, err
}

// post serves a request body and returns what the client got.
func (b *testbed) post(body string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.postAs(someone, body)
}

func (b *testbed) postAs(owner sandbox.Owner, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	w := httptest.NewRecorder()
	err := b.i.Serve(context.Background(), w, b, Request{Kind: KindResponses, Body: []byte(body), Owner: owner})
	if err != nil {
		b.t.Fatalf("serving: %v", err)
	}
	if strings.Contains(w.Body.String(), internalName) {
		b.t.Errorf("the internal name shows:\n%s", w.Body)
	}
	return w
}

// response decodes a JSON answer.
func (b *testbed) response(body string) map[string]any {
	b.t.Helper()
	w := b.post(body)
	if w.Code != http.StatusOK {
		b.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return decode(b.t, w.Body.Bytes())
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("decoding %s: %v", data, err)
	}
	return m
}

// types lists the types of a response's output items.
func types(response map[string]any) string {
	var out []string
	items, _ := response["output"].([]any)
	for _, item := range items {
		out = append(out, item.(map[string]any)["type"].(string))
	}
	return strings.Join(out, " ")
}

func itemOf(t *testing.T, response map[string]any, typ string) map[string]any {
	t.Helper()
	items, _ := response["output"].([]any)
	for _, item := range items {
		if m := item.(map[string]any); m["type"] == typ {
			return m
		}
	}
	t.Fatalf("no %s in %v", typ, response["output"])
	return nil
}

// script is an upstream that gives its answers in turn; the bytes are the
// test's, since no real upstream shows every fault.
func script(answers ...string) http.Handler {
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n >= len(answers) {
			http.Error(w, `{"error":{"message":"the script is over"}}`, http.StatusTeapot)
			return
		}
		answer := answers[n]
		n++
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(answer, "event:") || strings.HasPrefix(answer, "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		if status, body, ok := strings.Cut(answer, "!"); ok && status == "500" {
			w.WriteHeader(http.StatusInternalServerError)
			answer = body
		}
		_, _ = w.Write([]byte(answer))
	})
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
