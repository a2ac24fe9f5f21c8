package sandbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

func TestGoneContainerIsReplacedAndTheLossIsTold(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		if run(t, l, "x = 1").StateLost {
			t.Error("state lost at the first execution")
		}
		fake.Containers()[0].Kill()
		if !run(t, l, "x").StateLost {
			t.Error("the loss is hidden")
		}
		if run(t, l, "2").StateLost {
			t.Error("the loss is told twice")
		}
		one, other := fake.Containers()[0], fake.Containers()[1]
		if fake.Created() != 2 || one.Spec != other.Spec || one.Spec.ID != l.ID() {
			t.Errorf("created %d", fake.Created())
		}
	})
}

func TestContainerThatNeverRanCodeHasNoStateToLose(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		fake.OnRun = func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
			fake.OnRun = nil
			return sandbox.Result{}, sandbox.ErrGone
		}
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		if report := run(t, l, "1"); report.StateLost || fake.Created() != 2 {
			t.Errorf("lost %v, created %d", report.StateLost, fake.Created())
		}
	})
}

func TestGoneTwiceIsUnavailable(t *testing.T) {
	fake := &sandboxtest.Fake{OnRun: func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
		return sandbox.Result{}, sandbox.ErrGone
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		_, err := l.Run(t.Context(), "1")
		wantError(t, err, sandbox.ErrUnavailable)
		synctest.Wait()
		if fake.Created() != 2 || fake.Live() != 0 {
			t.Errorf("created %d, live %d", fake.Created(), fake.Live())
		}
	})
}

// Code that put something out was started, whatever the provider says.
func TestCodeThatMayHaveRunIsNotRepeated(t *testing.T) {
	for name, err := range map[string]error{"gone after output": sandbox.ErrGone, "failed": errors.New("connection reset")} {
		t.Run(name, func(t *testing.T) {
			fake := &sandboxtest.Fake{OnRun: func(_ context.Context, _ *fakeContainer, _ string, emit emitter) (sandbox.Result, error) {
				emit(sandbox.Output{Text: "started"})
				return sandbox.Result{}, err
			}}
			inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
				l := lease(t, p, session(alice, "x"))
				defer l.Release()
				report, err := l.Run(t.Context(), "1")
				wantError(t, err, sandbox.ErrUnavailable)
				if fake.Created() != 1 || len(fake.Containers()[0].Codes()) != 1 || len(report.Outputs) != 1 {
					t.Errorf("created %d, report %+v", fake.Created(), report)
				}
			})
		})
	}
}

func TestFailureKeepsTheContainerUnlessItRepeats(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		fail := func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
			return sandbox.Result{}, errors.New("connection reset")
		}
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		run(t, l, "x = 1")
		for range 3 { // never twice in a row
			fake.OnRun = fail
			_, err := l.Run(t.Context(), "2")
			wantError(t, err, sandbox.ErrUnavailable)
			fake.OnRun = nil
			if report := run(t, l, "3"); report.StateLost || fake.Created() != 1 {
				t.Errorf("lost %v, created %d", report.StateLost, fake.Created())
			}
		}
		fake.OnRun = fail
		for range 2 {
			_, err := l.Run(t.Context(), "4")
			wantError(t, err, sandbox.ErrUnavailable)
		}
		fake.OnRun = nil
		if report := run(t, l, "5"); !report.StateLost || fake.Created() != 2 {
			t.Errorf("lost %v, created %d", report.StateLost, fake.Created())
		}
	})
}

func TestLostContainerIsReplacedByTheNextExecution(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		fake.OnRun = func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
			return sandbox.Result{Outcome: sandbox.Died, Detail: "interpreter died (SIGSEGV)", Lost: true}, nil
		}
		l := lease(t, p, session(alice, "x"))
		report := run(t, l, "1")
		if !report.Lost || report.Outcome != sandbox.Died || report.StateLost || report.Detail != "interpreter died (SIGSEGV)" {
			t.Errorf("%+v", report)
		}
		synctest.Wait()
		if fake.Live() != 0 {
			t.Error("the lost container lives on")
		}
		l.Release()
		fake.OnRun = nil
		again := lease(t, p, session(alice, "x"))
		defer again.Release()
		if report := run(t, again, "2"); again.ID() != l.ID() || !report.StateLost || fake.Created() != 2 {
			t.Errorf("%+v", report)
		}
	})
}

func TestReplacementWaitsForTheDeletionOfTheLostOne(t *testing.T) {
	fake := &sandboxtest.Fake{OnDelete: func(context.Context, *fakeContainer) error {
		time.Sleep(time.Second)
		return nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		fake.OnRun = func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
			return sandbox.Result{Outcome: sandbox.Died, Lost: true}, nil
		}
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		run(t, l, "1")
		run(t, l, "2")
		if fake.Peak() != 1 || fake.Created() != 2 {
			t.Errorf("peak %d, created %d: two of one id at a time", fake.Peak(), fake.Created())
		}
	})
}

func TestFailedCreation(t *testing.T) {
	down := errors.New("provider is down")
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		calls := 0
		fake.OnCreate = func(context.Context, sandbox.Spec) error {
			calls++
			return down
		}
		r := session(alice, "x")
		r.Limits.MaxContainers = 1
		l := lease(t, p, r)
		report, err := l.Run(t.Context(), "1")
		wantError(t, err, sandbox.ErrUnavailable)
		wantError(t, err, down)
		if calls != 2 || !report.Started.IsZero() {
			t.Errorf("%d calls, report %+v", calls, report)
		}
		// The place of what never existed is free after the release.
		l.Release()
		_, err = p.Lease(sandbox.LeaseRequest{Owner: alice, Container: l.ID()})
		wantError(t, err, sandbox.ErrExpired)
		fake.OnCreate = nil
		r.Owner = bob
		use(t, p, r)
	})
}

func TestCreationIsTriedOnceMore(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		fake.OnCreate = func(context.Context, sandbox.Spec) error {
			fake.OnCreate = nil
			return errors.New("not now")
		}
		use(t, p, session(alice, "x"))
	})
}

func TestHangingCreationEnds(t *testing.T) {
	fake := &sandboxtest.Fake{OnCreate: func(ctx context.Context, _ sandbox.Spec) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		began := time.Now()
		_, err := l.Run(t.Context(), "1")
		wantError(t, err, sandbox.ErrUnavailable)
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestGoneContainerIsNotReplacedForACallerWhoIsGone(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		ctx, cancel := context.WithCancel(t.Context())
		fake.OnRun = func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) {
			cancel()
			return sandbox.Result{}, sandbox.ErrGone
		}
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		_, err := l.Run(ctx, "1")
		wantError(t, err, context.Canceled)
		if fake.Created() != 1 {
			t.Errorf("created %d", fake.Created())
		}
	})
}

func TestPanicOfTheProviderHoldsNothing(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		r := session(alice, "x")
		r.Limits.MaxConcurrentExecutions = 1
		l := lease(t, p, r)
		defer l.Release()
		panics := func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is hidden")
				}
			}()
			l.Run(t.Context(), "1")
		}
		fake.OnCreate = func(context.Context, sandbox.Spec) error { panic("create") }
		panics()
		fake.OnCreate = nil
		fake.OnRun = func(context.Context, *fakeContainer, string, emitter) (sandbox.Result, error) { panic("run") }
		panics()
		fake.OnRun = nil
		run(t, l, "2")
		if fake.Created() != 2 {
			t.Errorf("created %d: what panicked is used on", fake.Created())
		}
	})
}
