package sandbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

func TestOwnersLeastRecentlyUsedSessionMakesRoom(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		limited := func(owner sandbox.Owner, id string) sandbox.LeaseRequest {
			r := session(owner, id)
			r.Limits.SessionsPerOwner = 10
			return r
		}
		bobs := use(t, p, limited(bob, "x"))
		ids := make(map[string]string)
		for _, s := range "0123456789" {
			ids[string(s)] = use(t, p, limited(alice, string(s)))
		}
		use(t, p, limited(alice, "0")) // so "1" is the one
		eleventh := use(t, p, limited(alice, "10"))
		synctest.Wait()
		if fake.Live() != 11 || fake.Deleted() != 1 {
			t.Errorf("live %d, deleted %d", fake.Live(), fake.Deleted())
		}
		_, err := p.Lease(sandbox.LeaseRequest{Owner: alice, Container: ids["1"]})
		wantError(t, err, sandbox.ErrExpired)
		_, err = p.Lease(sandbox.LeaseRequest{Owner: bob, Container: ids["1"]})
		wantError(t, err, sandbox.ErrNotFound)
		for _, id := range []string{ids["0"], ids["2"], ids["9"], eleventh} {
			lease(t, p, sandbox.LeaseRequest{Owner: alice, Container: id}).Release()
		}
		lease(t, p, sandbox.LeaseRequest{Owner: bob, Container: bobs}).Release()
	})
}

func TestSessionInUseIsNotEvicted(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		limited := func(id string) sandbox.LeaseRequest {
			r := session(alice, id)
			r.Limits.SessionsPerOwner = 2
			return r
		}
		oldest := lease(t, p, limited("a"))
		run(t, oldest, "1")
		b := use(t, p, limited("b"))
		use(t, p, limited("c"))
		if _, err := p.Lease(sandbox.LeaseRequest{Owner: alice, Container: b}); err != sandbox.ErrExpired {
			t.Errorf("the idle one was not evicted: %v", err)
		}
		held := lease(t, p, limited("c"))
		_, err := p.Lease(limited("d"))
		wantError(t, err, sandbox.ErrTooManySessions)
		// What exists, and what is not kept, is not refused.
		lease(t, p, limited("a")).Release()
		ephemeral := limited("")
		lease(t, p, ephemeral).Release()
		if run(t, oldest, "2").StateLost || fake.Containers()[0].Dead() {
			t.Error("a container in use was evicted")
		}
		oldest.Release()
		lease(t, p, limited("d")).Release()
		held.Release()
	})
}

func TestLoweredSessionLimitIsReached(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		for _, s := range "abcdef" {
			use(t, p, session(alice, string(s)))
		}
		r := session(alice, "g")
		r.Limits.SessionsPerOwner = 2
		use(t, p, r)
		synctest.Wait()
		if fake.Live() != 2 {
			t.Errorf("%d live", fake.Live())
		}
	})
}

func TestFullPool(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		limited := func(owner sandbox.Owner, id string) sandbox.LeaseRequest {
			r := session(owner, id)
			r.Limits.MaxContainers = 3
			return r
		}
		mine := use(t, p, limited(alice, "x"))
		ephemeral := lease(t, p, limited(nobody, ""))
		held := lease(t, p, limited(bob, "y")) // a place, though nothing is created
		for name, r := range map[string]sandbox.LeaseRequest{
			"nobody":               limited(nobody, ""),
			"owner with all used":  limited(bob, "z"),
			"without session":      limited(bob, ""),
			"owner of none":        limited(sandbox.Owner{Scope: "s", Kind: "key", Value: "carol"}, "x"),
			"same value elsewhere": limited(sandbox.Owner{Scope: "t", Kind: "key", Value: "alice"}, "x"),
		} {
			if _, err := p.Lease(r); err != sandbox.ErrTooManyContainers {
				t.Errorf("%s: got %v", name, err)
			}
		}
		lease(t, p, limited(alice, "x")).Release()
		if fake.Deleted() != 0 {
			t.Error("another owner's container made room")
		}
		// One's own does, also for a request without a session.
		l := lease(t, p, limited(alice, ""))
		run(t, l, "1")
		if _, err := p.Lease(sandbox.LeaseRequest{Owner: alice, Container: mine}); err != sandbox.ErrExpired {
			t.Errorf("got %v", err)
		}
		run(t, held, "1")
		run(t, ephemeral, "1")
		if fake.Peak() > 3 {
			t.Errorf("%d containers at a time", fake.Peak())
		}
		l.Release()
		held.Release()
		ephemeral.Release()
	})
}

func TestContainerOnItsWayOutCounts(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		goOn := make(chan struct{})
		fake.OnDelete = func(context.Context, *sandboxtest.FakeContainer) error {
			<-goOn
			return nil
		}
		r := sandbox.LeaseRequest{Owner: alice, Limits: sandbox.Limits{MaxContainers: 1}}
		use(t, p, r)
		_, err := p.Lease(r)
		wantError(t, err, sandbox.ErrTooManyContainers)
		close(goOn)
		synctest.Wait()
		use(t, p, r)
	})
}

func TestSuccessorIsCreatedWhenTheEvictedOneIsGone(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		failures := 2
		fake.OnDelete = func(context.Context, *sandboxtest.FakeContainer) error {
			if failures--; failures >= 0 {
				return errors.New("not now")
			}
			return nil
		}
		limited := func(id string) sandbox.LeaseRequest {
			r := session(alice, id)
			r.Limits.MaxContainers = 1
			return r
		}
		use(t, p, limited("a"))
		use(t, p, limited("b"))
		if fake.Peak() != 1 || fake.Created() != 2 {
			t.Errorf("peak %d, created %d", fake.Peak(), fake.Created())
		}
	})
}

// Whoever has an evicted container's place may never use it.
func TestPlacesAreCountedOnceEach(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		goOn := make(chan struct{})
		fake.OnDelete = func(context.Context, *sandboxtest.FakeContainer) error {
			<-goOn
			return nil
		}
		limited := func(owner sandbox.Owner, id string) sandbox.LeaseRequest {
			r := session(owner, id)
			r.Limits.MaxContainers = 2
			return r
		}
		use(t, p, limited(alice, "a"))
		held := lease(t, p, limited(bob, "x"))
		heir := lease(t, p, limited(alice, "b")) // evicts "a", which lingers
		_, err := p.Lease(limited(bob, "y"))
		wantError(t, err, sandbox.ErrTooManyContainers)
		held.Release()
		free := lease(t, p, limited(bob, "y"))
		heir.Release() // leaves its place to "a" again
		_, err = p.Lease(limited(alice, "c"))
		wantError(t, err, sandbox.ErrTooManyContainers)
		close(goOn)
		synctest.Wait()
		lease(t, p, limited(alice, "c")).Release()
		free.Release()
	})
}

func TestSuccessorOfOneThatCannotBeDeletedIsUnavailable(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		var broken atomic.Bool
		broken.Store(true)
		fake.OnDelete = func(context.Context, *sandboxtest.FakeContainer) error {
			if broken.Load() {
				return errors.New("provider is down")
			}
			return nil
		}
		limited := func(id string) sandbox.LeaseRequest {
			r := session(alice, id)
			r.Limits.MaxContainers = 1
			return r
		}
		use(t, p, limited("a"))
		l := lease(t, p, limited("b"))
		began := time.Now()
		_, err := l.Run(t.Context(), "1")
		wantError(t, err, sandbox.ErrUnavailable)
		if took := time.Since(began); took != 30*time.Second || fake.Created() != 1 {
			t.Errorf("took %v, created %d", took, fake.Created())
		}
		broken.Store(false)
		time.Sleep(time.Minute)
		run(t, l, "1")
		l.Release()
	})
}

func TestConcurrentLeasesDoNotOvershoot(t *testing.T) {
	inPool(t, &sandboxtest.Fake{}, func(t *testing.T, p *sandbox.Pool) {
		leases := make(chan *sandbox.Lease, 100)
		for i := range cap(leases) {
			go func() {
				r := session(alice, string(rune('a'+i)))
				r.Limits = sandbox.Limits{SessionsPerOwner: 5, MaxContainers: 7}
				if i%2 == 0 {
					r.Session = ""
				}
				l, _ := p.Lease(r)
				leases <- l
			}()
		}
		synctest.Wait()
		close(leases)
		var got []*sandbox.Lease
		for l := range leases {
			if l != nil {
				got = append(got, l)
			}
		}
		if len(got) != 7 {
			t.Errorf("%d leases of 7", len(got))
		}
		for _, l := range got {
			l.Release()
		}
	})
}
