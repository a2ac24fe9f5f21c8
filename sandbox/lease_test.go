package sandbox_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

func TestSessionKeepsItsContainer(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		first := use(t, p, session(alice, "x"))
		synctest.Wait()
		if second := use(t, p, session(alice, "x")); second != first {
			t.Errorf("%s, then %s", first, second)
		}
		if fake.Created() != 1 || fake.Deleted() != 0 {
			t.Errorf("created %d, deleted %d", fake.Created(), fake.Deleted())
		}
	})
}

func TestContainersAreNotSharedBetween(t *testing.T) {
	for name, pair := range map[string][2]sandbox.LeaseRequest{
		"owners":             {session(alice, "x"), session(bob, "x")},
		"sessions":           {session(alice, "x"), session(alice, "y")},
		"session and none":   {session(alice, "x"), session(alice, "")},
		"requests of none":   {session(alice, ""), session(alice, "")},
		"anonymous callers":  {session(nobody, "x"), session(nobody, "x")},
		"kinds of an owner":  {session(alice, "x"), session(sandbox.Owner{Scope: "s", Kind: "placeholder", Value: "alice"}, "x")},
		"scopes of an owner": {session(alice, "x"), session(sandbox.Owner{Scope: "t", Kind: "key", Value: "alice"}, "x")},
		"long sessions":      {session(alice, strings.Repeat("x", 1<<20)), session(alice, strings.Repeat("x", 1<<20)+"\x00")},
	} {
		t.Run(name, func(t *testing.T) {
			inPool(t, &sandboxtest.Fake{}, func(t *testing.T, p *sandbox.Pool) {
				one, other := lease(t, p, pair[0]), lease(t, p, pair[1])
				defer one.Release()
				defer other.Release()
				if one.ID() == other.ID() {
					t.Error("they share a container")
				}
			})
		})
	}
}

func TestEphemeralContainerEndsWithItsLease(t *testing.T) {
	for name, owner := range map[string]sandbox.Owner{"no session": alice, "nobody": nobody} {
		t.Run(name, func(t *testing.T) {
			fake := &sandboxtest.Fake{}
			inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
				r := sandbox.LeaseRequest{Owner: owner}
				if owner == nobody {
					r.Session = "x"
				}
				l := lease(t, p, r)
				run(t, l, "1")
				run(t, l, "2")
				if fake.Created() != 1 || fake.Live() != 1 {
					t.Errorf("created %d, live %d: rounds of one request share a container", fake.Created(), fake.Live())
				}
				for range 3 {
					l.Release()
				}
				synctest.Wait()
				if fake.Live() != 0 || fake.Deleted() != 1 {
					t.Errorf("live %d, deleted %d", fake.Live(), fake.Deleted())
				}
				_, err := l.Run(t.Context(), "3")
				wantError(t, err, sandbox.ErrReleased)
			})
		})
	}
}

func TestNothingIsCreatedBeforeThereIsCode(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		l.Release()
		lease(t, p, sandbox.LeaseRequest{Owner: alice}).Release()
		if fake.Created() != 0 {
			t.Errorf("created %d", fake.Created())
		}
		// A place that was not used is free again.
		_, err := p.Lease(sandbox.LeaseRequest{Owner: alice, Container: l.ID()})
		wantError(t, err, sandbox.ErrNotFound)
		r := session(bob, "y")
		r.Limits.MaxContainers = 1
		lease(t, p, r).Release()
	})
}

func TestExplicitContainer(t *testing.T) {
	inPool(t, &sandboxtest.Fake{}, func(t *testing.T, p *sandbox.Pool) {
		short := session(alice, "short")
		short.Limits.TTL = time.Minute
		expired := use(t, p, short)
		time.Sleep(2 * time.Minute)
		kept := use(t, p, session(alice, "x"))
		ephemeral := lease(t, p, sandbox.LeaseRequest{Owner: alice})
		defer ephemeral.Release()
		run(t, ephemeral, "1")
		ended := use(t, p, sandbox.LeaseRequest{Owner: alice})
		nobodys := use(t, p, sandbox.LeaseRequest{Owner: nobody})
		foreign := sandbox.NewPool(&sandboxtest.Fake{}, nil)
		defer foreign.Close(t.Context())
		elsewhere := use(t, foreign, session(alice, "x"))

		for _, c := range []struct {
			name  string
			owner sandbox.Owner
			id    string
			err   error
		}{
			{"mine", alice, kept, nil},
			{"another's", bob, kept, sandbox.ErrNotFound},
			{"nobody asks", nobody, kept, sandbox.ErrNotFound},
			{"mine, expired", alice, expired, sandbox.ErrExpired},
			{"another's, expired", bob, expired, sandbox.ErrNotFound},
			{"nobody asks for expired", nobody, expired, sandbox.ErrNotFound},
			{"another request's own", alice, ephemeral.ID(), sandbox.ErrNotFound},
			{"mine, ended with its request", alice, ended, sandbox.ErrExpired},
			{"nobody's, ended with its request", nobody, nobodys, sandbox.ErrNotFound},
			{"another pool's", alice, elsewhere, sandbox.ErrNotFound},
			{"made up", alice, "cntr_" + strings.Repeat("0", 48), sandbox.ErrNotFound},
			{"not an id", alice, "\x00", sandbox.ErrNotFound},
		} {
			l, err := p.Lease(sandbox.LeaseRequest{Owner: c.owner, Container: c.id})
			if err != c.err {
				t.Errorf("%s: got %v, want %v", c.name, err, c.err)
			}
			if err == nil {
				if l.ID() != c.id {
					t.Errorf("%s: got %s", c.name, l.ID())
				}
				l.Release()
			}
		}
	})
}

func TestPrecedence(t *testing.T) {
	inPool(t, &sandboxtest.Fake{}, func(t *testing.T, p *sandbox.Pool) {
		a, b, c := use(t, p, session(alice, "a")), use(t, p, session(alice, "b")), use(t, p, session(alice, "c"))
		bobs := use(t, p, session(bob, "x"))
		short := session(alice, "short")
		short.Limits.TTL = time.Minute
		dead := use(t, p, short)
		time.Sleep(2 * time.Minute)
		for _, k := range []struct {
			name string
			r    sandbox.LeaseRequest
			want string
		}{
			{"explicit first", sandbox.LeaseRequest{Container: a, History: []string{b}, Session: "c"}, a},
			{"then history", sandbox.LeaseRequest{History: []string{b}, Session: "c"}, b},
			{"newest of history", sandbox.LeaseRequest{History: []string{a, b}}, a},
			{"dead, foreign and made-up history", sandbox.LeaseRequest{History: []string{dead, bobs, "cntr_1", "", b}, Session: "c"}, b},
			{"then the session", sandbox.LeaseRequest{History: []string{dead, bobs}, Session: "c"}, c},
		} {
			k.r.Owner = alice
			l := lease(t, p, k.r)
			if l.ID() != k.want {
				t.Errorf("%s: got %s, want %s", k.name, l.ID(), k.want)
			}
			l.Release()
		}
		fresh := lease(t, p, sandbox.LeaseRequest{Owner: alice, History: []string{dead, bobs}})
		defer fresh.Release()
		for _, id := range []string{a, b, c, dead, bobs} {
			if fresh.ID() == id {
				t.Error("not a new one at the end")
			}
		}
		theirs := lease(t, p, sandbox.LeaseRequest{Owner: nobody, History: []string{a, b}})
		defer theirs.Release()
		if theirs.ID() == a || theirs.ID() == b {
			t.Error("history gave nobody a kept container")
		}
	})
}

func TestTwelveParallelRequestsWithoutSession(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		ids := make(chan string)
		for range 12 {
			go func() {
				l, err := p.Lease(sandbox.LeaseRequest{Owner: alice, Limits: sandbox.Limits{SessionsPerOwner: 2}})
				if err != nil {
					t.Error(err)
					ids <- ""
					return
				}
				defer l.Release()
				if _, err := l.Run(t.Context(), "1"); err != nil {
					t.Error(err)
				}
				ids <- l.ID()
			}()
		}
		seen := make(map[string]bool)
		for range 12 {
			seen[<-ids] = true
		}
		synctest.Wait()
		if len(seen) != 12 || fake.Created() != 12 || fake.Live() != 0 {
			t.Errorf("%d ids, created %d, live %d", len(seen), fake.Created(), fake.Live())
		}
	})
}

func TestReleaseDuringExecutionWaitsForIt(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		going, goOn := make(chan struct{}), make(chan struct{})
		fake.OnRun = func(ctx context.Context, _ *sandboxtest.FakeContainer, _ string, _ func(sandbox.Output)) (sandbox.Result, error) {
			close(going)
			<-goOn
			return sandbox.Result{}, ctx.Err()
		}
		l := lease(t, p, sandbox.LeaseRequest{Owner: nobody})
		ran := make(chan error)
		go func() {
			_, err := l.Run(t.Context(), "1")
			ran <- err
		}()
		<-going
		l.Release()
		synctest.Wait()
		if fake.Live() != 1 {
			t.Error("deleted while it was in use")
		}
		close(goOn)
		wantError(t, <-ran, nil)
		synctest.Wait()
		if fake.Live() != 0 {
			t.Error("not deleted after its last use")
		}
	})
}
