package interceptor

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// decision 24: a container that others use all the time ends in a text for the
// model, never in a 409.
func TestBusyInterpreterIsToldToTheModel(t *testing.T) {
	b := newTestbed(t, nil)
	b.i.Config.Limits.ExecTimeout = 300 * time.Millisecond // also what a call waits for its turn
	running, release := make(chan struct{}), make(chan struct{})
	b.fake.OnRun = func(_ context.Context, _ *sandboxtest.FakeContainer, code string, _ func(sandbox.Output)) (sandbox.Result, error) {
		if code == "long" {
			close(running)
			<-release
		}
		return sandbox.Result{}, nil
	}
	serve := func(w http.ResponseWriter, turns ...string) {
		bed := &testbed{t: t, i: b.i, fake: b.fake, up: script(turns...)}
		if err := b.i.Serve(context.Background(), w, bed, Request{Kind: KindResponses, Body: []byte(ask("hi", withOutputs)), Owner: someone, Session: "s"}); err != nil {
			t.Error(err)
		}
		b.sent = bed.sent
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		bed := &testbed{t: t, i: b.i, fake: b.fake, up: script(completed("resp_1", code("1", "long")).json(), completed("resp_2", msg("msg_1", "ok")).json())}
		_ = b.i.Serve(context.Background(), newWatchedWriter(), bed, Request{Kind: KindResponses, Body: []byte(ask("hi", "")), Owner: someone, Session: "s"})
	}()
	<-running
	w := newWatchedWriter()
	serve(w, completed("resp_3", code("3", "short")).json(), completed("resp_4", msg("msg_2", "ok")).json())
	close(release)
	<-done
	if !strings.Contains(string(b.sent[1]), sandboxBusy) || !strings.Contains(w.String(), `"status":"failed"`) {
		t.Errorf("the model is told %s", b.sent[1])
	}
}

// decision 24: caps are decided before the first turn.
func TestCapsAnswerBeforeTheFirstTurn(t *testing.T) {
	b := newTestbed(t, nil)
	b.i.Config.Limits.MaxContainers = 1
	running, release := make(chan struct{}), make(chan struct{})
	b.fake.OnRun = func(context.Context, *sandboxtest.FakeContainer, string, func(sandbox.Output)) (sandbox.Result, error) {
		close(running)
		<-release
		return sandbox.Result{}, nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		bed := &testbed{t: t, i: b.i, fake: b.fake, up: script(completed("resp_1", code("1", "a")).json(), completed("resp_2", msg("msg_1", "ok")).json())}
		_ = b.i.Serve(context.Background(), newWatchedWriter(), bed, Request{Kind: KindResponses, Body: []byte(ask("hi", "")), Owner: someone})
	}()
	<-running
	w := b.post(ask("hi", ""))
	close(release)
	<-done
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || len(b.sent) != 0 {
		t.Errorf("%d %v after %d turns: %s", w.Code, w.Header(), len(b.sent), w.Body)
	}
}
