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

func TestCloseDeletesAll(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		use(t, p, session(alice, "idle"))
		inUse := lease(t, p, session(alice, "in use"))
		run(t, inUse, "1")
		ephemeral := lease(t, p, sandbox.LeaseRequest{Owner: bob})
		run(t, ephemeral, "1")
		unused := lease(t, p, session(bob, "unused"))
		if fake.Live() != 3 {
			t.Fatalf("%d live", fake.Live())
		}
		for range 3 {
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if fake.Live() != 0 || fake.Created() != 3 {
			t.Errorf("live %d, created %d", fake.Live(), fake.Created())
		}
		_, err := p.Lease(session(alice, "new"))
		wantError(t, err, sandbox.ErrClosed)
		_, err = inUse.Run(t.Context(), "1")
		wantError(t, err, sandbox.ErrClosed)
		for _, l := range []*sandbox.Lease{inUse, ephemeral, unused} {
			l.Release()
		}
	})
}

func TestCloseEndsExecutionsAndThoseWhoWait(t *testing.T) {
	fake := &sandboxtest.Fake{OnRun: func(ctx context.Context, _ *sandboxtest.FakeContainer, _ string, _ func(sandbox.Output)) (sandbox.Result, error) {
		<-ctx.Done()
		return sandbox.Result{Outcome: sandbox.Interrupted}, nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() {
				_, err := l.Run(t.Context(), "while True: pass")
				errs <- err
			}()
		}
		synctest.Wait()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for range cap(errs) {
			wantError(t, <-errs, sandbox.ErrClosed)
		}
		if fake.Created() != 1 {
			t.Errorf("created %d", fake.Created())
		}
	})
}

func TestContainerThatIsCreatedDuringCloseIsDeleted(t *testing.T) {
	var created chan struct{}
	fake := &sandboxtest.Fake{OnCreate: func(context.Context, sandbox.Spec) error {
		<-created // a provider that does not heed its context
		return nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		created = make(chan struct{}) // of the bubble
		l := lease(t, p, session(alice, "x"))
		defer l.Release()
		ran, closed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := l.Run(t.Context(), "1")
			ran <- err
		}()
		synctest.Wait()
		go func() { closed <- p.Close(t.Context()) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close did not wait for the creation")
		default:
		}
		close(created)
		wantError(t, <-ran, sandbox.ErrClosed)
		wantError(t, <-closed, nil)
		if fake.Created() != 1 || fake.Live() != 0 || len(fake.Containers()[0].Codes()) != 0 {
			t.Errorf("created %d, live %d", fake.Created(), fake.Live())
		}
	})
}

func TestCloseIsBoundedByItsContext(t *testing.T) {
	broken := errors.New("provider is down")
	synctest.Test(t, func(t *testing.T) {
		fake := &sandboxtest.Fake{OnDelete: func(context.Context, *sandboxtest.FakeContainer) error { return broken }}
		p := sandbox.NewPool(fake, nil)
		use(t, p, session(alice, "x"))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		wantError(t, p.Close(ctx), context.DeadlineExceeded)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
		wantError(t, p.Close(t.Context()), context.DeadlineExceeded)
	})
}

func TestCloseSparesNoTimeForRetries(t *testing.T) {
	failures := 5
	fake := &sandboxtest.Fake{}
	fake.OnDelete = func(context.Context, *sandboxtest.FakeContainer) error {
		if failures--; failures >= 0 {
			return errors.New("not now")
		}
		return nil
	}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		r := session(alice, "x")
		use(t, p, r)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		wantError(t, p.Close(ctx), nil)
	})
}

func TestContainersAreDeletedInParallelAtClose(t *testing.T) {
	fake := &sandboxtest.Fake{OnDelete: func(context.Context, *sandboxtest.FakeContainer) error {
		time.Sleep(time.Second)
		return nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		for i := range 30 {
			r := session(alice, string(rune('a'+i)))
			r.Limits.SessionsPerOwner = 30
			use(t, p, r)
		}
		began := time.Now()
		wantError(t, p.Close(t.Context()), nil)
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}
