package integration

import (
	"bufio"
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// blocking makes executions wait for release, or for the end of their
// context, of which ended tells; started tells of each one that begins.
type blocking struct {
	started chan string
	ended   chan error
	release chan struct{}
}

func block(f *sandboxtest.Fake) *blocking {
	b := &blocking{started: make(chan string, 100), ended: make(chan error, 100), release: make(chan struct{})}
	f.OnRun = func(ctx context.Context, c *sandboxtest.FakeContainer, code string, emit func(sandbox.Output)) (sandbox.Result, error) {
		b.started <- code
		select {
		case <-b.release:
			return ran(ctx, c, code, emit)
		case <-ctx.Done():
			b.ended <- context.Cause(ctx)
			return sandbox.Result{Outcome: sandbox.Interrupted}, nil
		}
	}
	return b
}

// speak makes the client speak that version of HTTP.
func (b *bed) speak(version int) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(version == 1)
	protocols.SetUnencryptedHTTP2(version == 2)
	b.client.Transport = &http.Transport{DisableCompression: true, Protocols: protocols}
}

func TestClientThatGoesAwayInterruptsItsCode(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run([]string{1: "HTTP1", 2: "HTTP2"}[version], func(t *testing.T) {
			bothModes(t, func(t *testing.T, more string) { goAway(t, version, more) })
		})
	}
}

func goAway(t *testing.T, version int, more string) {
	up := newTurns()
	b := newBed(t, up)
	b.speak(version)
	execution := block(b.fake)
	b.start(behindProxy)
	quiet := runtime.NumGoroutine()
	for range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		r := b.request(strings.NewReader(question(more, simple))).WithContext(ctx)
		go func() {
			_, err := b.try(r)
			done <- err
		}()
		inTime(t, "code runs", execution.started)
		cancel()
		if err := inTime(t, "the client's end", done); err == nil {
			t.Error("the request ended well")
		}
		inTime(t, "the code's context ends", execution.ended)
		eventually(t, "the container is deleted", func() bool { return b.fake.Live() == 0 })
	}
	if got := len(up.requests()); got != 5 {
		t.Errorf("%d turns for 5 requests", got)
	}
	b.client.CloseIdleConnections()
	b.upstream.CloseClientConnections()
	eventually(t, "no goroutines are left over", func() bool { return runtime.NumGoroutine() <= quiet+5 })
}

func TestClientThatGoesAwayEndsItsTurn(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		up := newTurns()
		started, ended := make(chan bool, 1), make(chan bool, 1)
		up.on[2] = func(w http.ResponseWriter, r *http.Request) {
			_, _ = bufio.NewReader(r.Body).WriteTo(discard{})
			started <- true
			<-r.Context().Done()
			ended <- true
		}
		b := newBed(t, up).start(behindProxy)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r := b.request(strings.NewReader(question(more, simple))).WithContext(ctx)
		go func() { _, _ = b.try(r) }()
		inTime(t, "the second turn begins", started)
		cancel()
		inTime(t, "the second turn is cancelled", ended)
		eventually(t, "the container is deleted", func() bool { return b.fake.Live() == 0 })
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Comments keep a stream alive while code runs, on HTTP/2 too, where a quiet
// handler could run into a write deadline (caddy #7913).
func TestQuietStreamIsKeptAlive(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run([]string{1: "HTTP1", 2: "HTTP2"}[version], func(t *testing.T) {
			b := newBed(t, newTurns())
			execution := block(b.fake)
			b.start(strings.Replace(behindProxy, "STANDARD", "STANDARD\n\tkeepalive 1s", 1))
			b.speak(version)
			resp, err := b.client.Do(b.request(strings.NewReader(question(`,"stream":true`, simple))))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.ProtoMajor != version {
				t.Fatalf("the protocol is %s", resp.Proto)
			}
			var body []byte
			lines, comments := bufio.NewReader(resp.Body), 0
			for {
				line, err := lines.ReadBytes('\n')
				body = append(body, line...)
				if err != nil {
					break
				}
				if line[0] == ':' {
					if comments++; comments == 3 {
						close(execution.release)
					}
				}
			}
			if comments < 3 {
				t.Errorf("%d comments", comments)
			}
			b.answer(resp, body).completed()
		})
	}
}

// What the model writes reaches the client while the upstream still sends.
func TestStreamArrivesWhileItIsMade(t *testing.T) {
	up := newTurns()
	goOn := make(chan struct{})
	up.on[2] = func(w http.ResponseWriter, r *http.Request) {
		whole := up.play(r).Body.String()
		first, rest, _ := strings.Cut(whole, "event: response.output_text.done")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(first))
		_ = http.NewResponseController(w).Flush()
		<-goOn
		_, _ = w.Write([]byte("event: response.output_text.done" + rest))
	}
	b := newBed(t, up).start("encode gzip\n" + behindProxy)
	resp, err := b.client.Do(b.request(strings.NewReader(question(`,"stream":true`, simple))))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body []byte
	for lines, open := bufio.NewReader(resp.Body), true; ; {
		line, err := lines.ReadBytes('\n')
		body = append(body, line...)
		if err != nil {
			break
		}
		if open && strings.Contains(string(line), "response.output_text.delta") {
			open = false
			close(goOn)
		}
	}
	b.answer(resp, body).completed()
}
