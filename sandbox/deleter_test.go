package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

func TestFailedDeletionIsTriedAgain(t *testing.T) {
	var tries atomic.Int32
	fake := &sandboxtest.Fake{}
	fake.OnDelete = func(context.Context, *sandboxtest.FakeContainer) error {
		if tries.Add(1) < 4 {
			return errors.New("not now")
		}
		return nil
	}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		use(t, p, sandbox.LeaseRequest{Owner: alice})
		synctest.Wait()
		if tries.Load() != 1 || fake.Live() != 1 {
			t.Errorf("%d tries at once", tries.Load())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if tries.Load() != 4 || fake.Live() != 0 {
			t.Errorf("%d tries, %d live", tries.Load(), fake.Live())
		}
	})
}

func TestDeletionIsGivenUpWithOneError(t *testing.T) {
	var tries atomic.Int32
	fake := &sandboxtest.Fake{}
	fake.OnDelete = func(context.Context, *sandboxtest.FakeContainer) error {
		tries.Add(1)
		return errors.New("provider is down")
	}
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.InfoLevel)
		p := sandbox.NewPool(fake, zap.New(core))
		r := sandbox.LeaseRequest{Owner: alice, Limits: sandbox.Limits{MaxContainers: 1}}
		use(t, p, r)
		time.Sleep(time.Minute)
		_, err := p.Lease(r)
		wantError(t, err, sandbox.ErrTooManyContainers)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if tries.Load() != 8 || logs.Len() != 1 || logs.All()[0].Level != zapcore.ErrorLevel {
			t.Errorf("%d tries, logs %v", tries.Load(), logs.All())
		}
		l := lease(t, p, r) // the place is not blocked for ever
		l.Release()
		wantError(t, p.Close(t.Context()), nil)
	})
}

func TestHangingDeletionHoldsUpNothing(t *testing.T) {
	fake := &sandboxtest.Fake{OnDelete: func(ctx context.Context, c *sandboxtest.FakeContainer) error {
		if c.Number == 1 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		short := session(alice, "x")
		short.Limits.TTL = 10 * time.Second
		use(t, p, short)
		other := session(bob, "x")
		other.Limits.TTL = 16 * time.Second
		use(t, p, other)
		time.Sleep(22 * time.Second)
		if containers := fake.Containers(); containers[0].Dead() || !containers[1].Dead() {
			t.Error("one deletion held up another")
		}
		containers := fake.Containers()
		containers[0].Kill() // what is gone is deleted with success
	})
}

// The request's context is over when its container is deleted.
func TestCallerWhoGoesAwayLeavesNothing(t *testing.T) {
	fake := &sandboxtest.Fake{
		OnRun: func(ctx context.Context, _ *sandboxtest.FakeContainer, _ string, _ func(sandbox.Output)) (sandbox.Result, error) {
			<-ctx.Done()
			return sandbox.Result{Outcome: sandbox.Interrupted}, nil
		},
		OnDelete: func(ctx context.Context, _ *sandboxtest.FakeContainer) error { return ctx.Err() },
	}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, sandbox.LeaseRequest{Owner: alice})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() {
			defer l.Release()
			_, err := l.Run(ctx, "1")
			ran <- err
		}()
		synctest.Wait()
		cancel()
		wantError(t, <-ran, context.Canceled)
		synctest.Wait()
		if fake.Created() != 1 || fake.Live() != 0 {
			t.Errorf("created %d, live %d", fake.Created(), fake.Live())
		}
	})
}

// Deletions run on goroutines that no server recovers for.
func TestPanicInADeletionIsAFailedTry(t *testing.T) {
	var tries atomic.Int32
	fake := &sandboxtest.Fake{}
	fake.OnDelete = func(context.Context, *sandboxtest.FakeContainer) error {
		if tries.Add(1) == 1 {
			panic("delete")
		}
		return nil
	}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		use(t, p, sandbox.LeaseRequest{Owner: alice})
		time.Sleep(time.Minute)
		synctest.Wait()
		if tries.Load() != 2 || fake.Live() != 0 {
			t.Errorf("%d tries, %d live", tries.Load(), fake.Live())
		}
	})
}

func TestPanicInEveryTryIsLoggedOnceWithItsStack(t *testing.T) {
	fake := &sandboxtest.Fake{OnDelete: func(context.Context, *sandboxtest.FakeContainer) error {
		panic("delete")
	}}
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.InfoLevel)
		p := sandbox.NewPool(fake, zap.New(core))
		use(t, p, sandbox.LeaseRequest{Owner: alice})
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if logs.Len() != 1 {
			t.Fatalf("logs %v", logs.All())
		}
		err := fmt.Sprint(logs.All()[0].ContextMap()["error"])
		if !strings.Contains(err, "provider panicked: delete") || !strings.Contains(err, "deleter_test.go") {
			t.Errorf("logged %s", err)
		}
		wantError(t, p.Close(t.Context()), nil)
	})
}
