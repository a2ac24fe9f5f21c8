package sandbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

type (
	fakeContainer = sandboxtest.FakeContainer
	emitter       = func(sandbox.Output)
)

// untilInterrupted is code that runs until its context ends.
func untilInterrupted(ctx context.Context, _ *fakeContainer, _ string, _ emitter) (sandbox.Result, error) {
	<-ctx.Done()
	return sandbox.Result{Outcome: sandbox.Interrupted}, nil
}

func TestFirstTwoRequestsOfASessionCreateOneContainer(t *testing.T) {
	fake := &sandboxtest.Fake{OnCreate: func(context.Context, sandbox.Spec) error {
		time.Sleep(time.Second)
		return nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		ids := make(chan string)
		for range 2 {
			go func() { ids <- use(t, p, session(alice, "x")) }()
		}
		if one, other := <-ids, <-ids; one != other || fake.Created() != 1 || fake.Live() != 1 {
			t.Errorf("%s and %s, created %d, live %d", one, other, fake.Created(), fake.Live())
		}
		if spec := fake.Containers()[0].Spec; !p.Minted(spec.ID) {
			t.Errorf("spec %v", spec)
		}
	})
}

func TestCreationIsTakenUpByTheNextWhenItsCallerGoesAway(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		fake.OnCreate = func(ctx context.Context, _ sandbox.Spec) error {
			select {
			case <-time.After(10 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		first, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		l, errs := lease(t, p, session(alice, "x")), make(chan error, 2)
		go func() {
			_, err := l.Run(first, "1")
			errs <- err
		}()
		synctest.Wait()
		other := lease(t, p, session(alice, "x"))
		go func() {
			_, err := other.Run(t.Context(), "2")
			errs <- err
		}()
		wantError(t, <-errs, context.DeadlineExceeded)
		wantError(t, <-errs, nil)
		if fake.Created() != 1 || fake.Live() != 1 {
			t.Errorf("created %d, live %d", fake.Created(), fake.Live())
		}
		l.Release()
		other.Release()
	})
}

func TestExecutionsInAContainerTakeTurns(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		fake.OnRun = func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
			time.Sleep(time.Second)
			return sandbox.Result{}, nil
		}
		began := time.Now()
		done := make(chan struct{})
		for range 6 {
			go func() {
				use(t, p, session(alice, "x"))
				done <- struct{}{}
			}()
		}
		for range 6 {
			<-done
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestPoolRunsNoMoreThanItsLimitAtOnce(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		fake.OnRun = func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
			time.Sleep(time.Second)
			return sandbox.Result{}, nil
		}
		began := time.Now()
		done := make(chan struct{})
		for range 9 {
			go func() {
				use(t, p, sandbox.LeaseRequest{Owner: nobody, Limits: sandbox.Limits{MaxConcurrentExecutions: 3}})
				done <- struct{}{}
			}()
		}
		for range 9 {
			<-done
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestNoTurnInTimeIsBusy(t *testing.T) {
	for name, second := range map[string]sandbox.LeaseRequest{
		"container": session(alice, "x"),
		"pool":      session(bob, "x"),
	} {
		t.Run(name, func(t *testing.T) {
			fake := &sandboxtest.Fake{OnRun: untilInterrupted}
			inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
				r := session(alice, "x")
				r.Limits = sandbox.Limits{ExecTimeout: time.Hour, MaxConcurrentExecutions: 1}
				holder := lease(t, p, r)
				ctx, cancel := context.WithCancel(t.Context())
				held := make(chan error)
				go func() {
					_, err := holder.Run(ctx, "1")
					held <- err
				}()
				synctest.Wait()
				second.Limits = sandbox.Limits{ExecTimeout: time.Minute, MaxConcurrentExecutions: 1}
				waiting := lease(t, p, second)
				began := time.Now()
				report, err := waiting.Run(t.Context(), "2")
				wantError(t, err, sandbox.ErrBusy)
				if took := time.Since(began); took != time.Minute || !report.Started.IsZero() {
					t.Errorf("took %v, report %v", took, report)
				}
				// Going away while waiting is no reason to be busy.
				short, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				_, err = waiting.Run(short, "2")
				wantError(t, err, context.DeadlineExceeded)
				cancel()
				wantError(t, <-held, context.Canceled)
				fake.OnRun = nil
				run(t, waiting, "3")
				for _, c := range fake.Containers() {
					if strings.Contains(strings.Join(c.Codes(), ""), "2") {
						t.Error("code ran that was said not to")
					}
				}
				holder.Release()
				waiting.Release()
			})
		})
	}
}

func TestExecutionEndsAtItsTimeLimit(t *testing.T) {
	fake := &sandboxtest.Fake{OnRun: func(ctx context.Context, c *fakeContainer, code string, emit emitter) (sandbox.Result, error) {
		emit(sandbox.Output{Text: "so far"})
		return untilInterrupted(ctx, c, code, emit)
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		r := session(alice, "x")
		r.Limits.ExecTimeout = 10 * time.Second
		l := lease(t, p, r)
		defer l.Release()
		report := run(t, l, "1")
		if !report.TimedOut || report.Flooded || report.Outcome != sandbox.Interrupted || report.Duration != 10*time.Second || report.Outputs[0].Text != "so far" {
			t.Errorf("%+v", report)
		}
		// The container is none the worse for it.
		fake.OnRun = nil
		if report := run(t, l, "2"); report.TimedOut || report.StateLost || fake.Created() != 1 {
			t.Errorf("%+v", report)
		}
	})
}

func TestFloodEndsTheExecution(t *testing.T) {
	fake := &sandboxtest.Fake{OnRun: func(ctx context.Context, _ *fakeContainer, _ string, emit emitter) (sandbox.Result, error) {
		for ctx.Err() == nil {
			emit(sandbox.Output{Text: strings.Repeat("x", 1<<20)})
		}
		return sandbox.Result{Outcome: sandbox.Interrupted}, nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		r := session(alice, "x")
		r.Limits.MaxOutput = 1000
		l := lease(t, p, r)
		defer l.Release()
		report := run(t, l, "while True: print('x')")
		if !report.Flooded || report.TimedOut || report.Omitted != 65<<20-1000 || len(report.Outputs) != 1 || len(report.Outputs[0].Text) > 1100 {
			t.Errorf("flooded %v, timed out %v, omitted %d", report.Flooded, report.TimedOut, report.Omitted)
		}
	})
}

func TestLateOutputGoesToNoExecution(t *testing.T) {
	var late emitter
	fake := &sandboxtest.Fake{OnRun: func(_ context.Context, c *fakeContainer, code string, emit emitter) (sandbox.Result, error) {
		if late != nil {
			late(sandbox.Output{Text: "late"})
		}
		late = emit
		emit(sandbox.Output{Text: code})
		return sandbox.Result{}, nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		for _, code := range []string{"1", "2"} {
			if report := run(t, l, code); len(report.Outputs) != 1 || report.Outputs[0].Text != code {
				t.Errorf("%+v", report.Outputs)
			}
		}
	})
}

func TestCallerWhoIsGoneStartsNothing(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("a cause of the caller's"))
		_, err := l.Run(ctx, "1")
		wantError(t, err, context.Canceled)
		if fake.Created() != 0 {
			t.Error("created for nobody")
		}
	})
}

func TestDetailIsValidAndBounded(t *testing.T) {
	fake := &sandboxtest.Fake{OnRun: func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
		return sandbox.Result{Outcome: sandbox.Raised, Detail: "E: " + strings.Repeat("\xff", 1<<20)}, nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		if report := run(t, l, "1"); len(report.Detail) > 1<<10 || !utf8.ValidString(report.Detail) {
			t.Errorf("%d bytes", len(report.Detail))
		}
	})
}

func TestLogsHoldNoSecrets(t *testing.T) {
	const secret = "s3cr3t"
	fake := &sandboxtest.Fake{}
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.DebugLevel)
		p := sandbox.NewPool(fake, zap.New(core))
		r := session(sandbox.Owner{Scope: secret, Kind: secret, Value: secret}, secret)
		r.Limits = sandbox.Limits{SessionsPerOwner: 1, TTL: time.Minute}
		fake.OnRun = func(_ context.Context, _ *fakeContainer, code string, emit emitter) (sandbox.Result, error) {
			emit(sandbox.Output{Kind: sandbox.Traceback, Text: code})
			return sandbox.Result{Outcome: sandbox.Raised, Detail: code, Lost: true}, nil
		}
		l := lease(t, p, r)
		run(t, l, secret)
		fake.OnRun = nil
		run(t, l, secret)
		l.Release()
		r.Session += "2"
		l = lease(t, p, r)
		run(t, l, secret)
		l.Release()
		time.Sleep(time.Hour)
		wantError(t, p.Close(t.Context()), nil)
		if logs.Len() < 8 {
			t.Errorf("only %d entries; the test shows nothing", logs.Len())
		}
		for _, e := range logs.All() {
			line, err := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "m"}).EncodeEntry(e.Entry, e.Context)
			if err != nil || strings.Contains(line.String(), secret) {
				t.Errorf("log entry %s, %v", line, err)
			}
		}
	})
}
