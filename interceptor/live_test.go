package interceptor

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// watchedWriter tells of what a client has got so far.
type watchedWriter struct {
	header http.Header
	mu     sync.Mutex
	body   strings.Builder
	more   chan struct{} // closed and replaced at every flush
	fail   func(body string) error
}

func newWatchedWriter() *watchedWriter {
	return &watchedWriter{header: http.Header{}, more: make(chan struct{})}
}

func (w *watchedWriter) Header() http.Header { return w.header }
func (w *watchedWriter) WriteHeader(int)     {}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.body.Write(p)
	if w.fail != nil {
		if err := w.fail(w.body.String()); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (w *watchedWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.more)
	w.more = make(chan struct{})
}

func (w *watchedWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.String()
}

// await returns when the client has got the text.
func (w *watchedWriter) await(t *testing.T, text string) {
	deadline := time.After(30 * time.Second)
	for {
		w.mu.Lock()
		has, more := strings.Contains(w.body.String(), text), w.more
		w.mu.Unlock()
		if has {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Errorf("the client does not get %q, only %s", text, w)
			return
		}
	}
}

func (b *testbed) stream(ctx context.Context, w http.ResponseWriter, body string) {
	b.t.Helper()
	if err := b.i.Serve(ctx, w, b, Request{Kind: KindResponses, Body: []byte(body), Owner: someone}); err != nil {
		b.t.Errorf("serving: %v", err)
	}
}

// inWrites is an upstream that sends each turn in the given writes, and calls
// after behind each.
func inWrites(turns [][]string, after func(turn, write int)) http.Handler {
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		turn := n
		n++
		for k, piece := range turns[turn] {
			if _, err := w.Write([]byte(piece)); err != nil {
				return
			}
			if after != nil {
				after(turn, k)
			}
		}
	})
}

// cases/litellm.md C1: what arrives is shown at once, the code above all.
func TestCodeIsShownWhileItArrives(t *testing.T) {
	first := completed("resp_1", msg("msg_1", "see"), code("1", "print(123456)")).events()
	w := newWatchedWriter()
	b := newTestbed(t, inWrites([][]string{first, completed("resp_2", msg("msg_2", "ok")).events()}, func(turn, write int) {
		if turn > 0 {
			return
		}
		switch sent := first[write]; {
		case strings.Contains(sent, `"delta":"see"`):
			w.await(t, `"delta":"see"`)
		case strings.Contains(sent, `"delta":"int"`):
			w.await(t, `"delta":"int"`)
		case strings.Contains(sent, `"delta":"345"`):
			w.await(t, `"delta":"345"`)
		}
	}))
	b.stream(context.Background(), w, ask("hi", `,"stream":true`))
	clientEvents(t, w.String())
	if strings.Count(w.String(), "code_interpreter_call_code.delta\n") != 5 {
		t.Errorf("the deltas are %s", w)
	}
}

// streamed serves turns that arrive in the given writes.
func (b *testbed) streamed(more string, turns ...[]string) string {
	b.t.Helper()
	b.up = inWrites(turns, nil)
	w := b.post(ask("hi", `,"stream":true`+more))
	return mintedID.ReplaceAllString(w.Body.String(), `"${1}_minted"`)
}

func TestAnySplitOfTheUpstreamsBytesIsTheSame(t *testing.T) {
	frames := completed("resp_1", code("1", "'😀\n'")).events()
	first := frames[0] + strings.Join(frames[2:], "")
	last := completed("resp_2", msg("msg_2", "ok")).stream()
	b := newTestbed(t, nil)
	want := b.streamed("", []string{first}, []string{last})
	clientEvents(t, want)
	for n := len(frames[0]); n < len(first)-len(frames[len(frames)-1]); n++ {
		if got := b.streamed("", []string{first[:n], first[n:]}, []string{last}); got != want {
			t.Fatalf("cut at %d:\n%s\nwant\n%s", n, got, want)
		}
	}
	if got := b.streamed("", strings.Split(first, ""), strings.Split(last, "")); got != want {
		t.Errorf("byte by byte:\n%s", got)
	}
}

func TestAnySplitOfARecordingIsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"01", "03", "05"} {
		turns := turnsOf(t, name)
		whole := make([][]string, len(turns))
		for n, turn := range turns {
			whole[n] = []string{turn}
		}
		b := newTestbed(t, nil)
		want := b.streamed("", whole...)
		for range 3 {
			cut := make([][]string, len(turns))
			for n, rest := range turns {
				for len(rest) > 0 {
					k := min(len(rest), 1+r.IntN(2000))
					cut[n] = append(cut[n], rest[:k])
					rest = rest[k:]
				}
			}
			if got := b.streamed("", cut...); got != want {
				t.Fatalf("%s differs when it is cut", name)
			}
		}
	}
}

// wire/openai.md 0.5.
func TestObfuscation(t *testing.T) {
	turns := [][]string{completed("resp_1", code("1", "print(😀)")).events(), completed("resp_2", msg("msg_1", "ok")).events()}
	b := newTestbed(t, nil)
	padded, plain := b.streamed("", turns...), b.streamed(`,"stream_options":{"include_obfuscation":false}`, turns...)
	if strings.Contains(plain, "obfuscation") {
		t.Errorf("it is padded: %s", plain)
	}
	deltas := 0
	for _, e := range clientEvents(t, padded) {
		if e.typ == "response.code_interpreter_call_code.delta" {
			deltas++
			if n := len([]rune(e.data["delta"].(string) + e.data["obfuscation"].(string))); n%16 != 0 {
				t.Errorf("%s has %d characters", e.raw, n)
			}
		}
	}
	if deltas == 0 {
		t.Error("there are no deltas")
	}
}

func TestKeepAliveWhileCodeRuns(t *testing.T) {
	w := newWatchedWriter()
	b := newTestbed(t, script(completed("resp_1", code("1", "a")).stream(), completed("resp_2", msg("msg_1", "ok")).stream()))
	b.i.Config.Keepalive = 5 * time.Millisecond
	b.fake.OnRun = func(context.Context, *sandboxtest.FakeContainer, string, func(sandbox.Output)) (sandbox.Result, error) {
		w.await(t, ": keep-alive\n\n")
		return sandbox.Result{}, nil
	}
	b.stream(context.Background(), w, ask("hi", `,"stream":true`))
	clientEvents(t, w.String())
}

// cases/litellm.md D8: nothing runs on for a client that is gone.
func TestClientThatGoesAwayStopsTheCode(t *testing.T) {
	t.Run("before the code", func(t *testing.T) {
		w := newWatchedWriter()
		w.fail = func(body string) error {
			if strings.Contains(body, "code.delta") {
				return errors.New("gone")
			}
			return nil
		}
		b := newTestbed(t, script(completed("resp_1", code("1", "a")).stream()))
		b.stream(context.Background(), w, ask("hi", `,"stream":true`))
		if b.fake.Created() != 0 {
			t.Error("the code ran")
		}
	})
	t.Run("seen by a keep-alive", func(t *testing.T) {
		w := newWatchedWriter()
		w.fail = func(body string) error {
			if strings.Contains(body, ": keep-alive") {
				return errors.New("gone")
			}
			return nil
		}
		b := newTestbed(t, script(completed("resp_1", code("1", "a")).stream()))
		b.i.Config.Keepalive = 5 * time.Millisecond
		stopped := false
		b.fake.OnRun = untilStopped(t, &stopped, nil)
		b.stream(context.Background(), w, ask("hi", `,"stream":true`))
		if !stopped || len(b.sent) != 1 {
			t.Errorf("after %d turns: stopped %v", len(b.sent), stopped)
		}
	})
	t.Run("by its context", func(t *testing.T) {
		for _, more := range []string{"", `,"stream":true`} {
			ctx, cancel := context.WithCancel(context.Background())
			b := newTestbed(t, script(completed("resp_1", code("1", "a")).stream()))
			stopped := false
			b.fake.OnRun = untilStopped(t, &stopped, cancel)
			b.stream(ctx, httptest.NewRecorder(), ask("hi", more))
			if !stopped || len(b.sent) != 1 {
				t.Errorf("after %d turns: stopped %v", len(b.sent), stopped)
			}
		}
	})
}

func untilStopped(t *testing.T, stopped *bool, begun func()) fakeRun {
	return func(ctx context.Context, _ *sandboxtest.FakeContainer, _ string, _ func(sandbox.Output)) (sandbox.Result, error) {
		if begun != nil {
			begun()
		}
		select {
		case <-ctx.Done():
			*stopped = true
		case <-time.After(30 * time.Second):
			t.Error("the code runs on")
		}
		return sandbox.Result{Outcome: sandbox.Interrupted}, nil
	}
}
