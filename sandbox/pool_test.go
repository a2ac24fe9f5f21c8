package sandbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

var (
	alice  = sandbox.Owner{Scope: "s", Kind: "key", Value: "alice"}
	bob    = sandbox.Owner{Scope: "s", Kind: "key", Value: "bob"}
	nobody = sandbox.Owner{Scope: "s", Kind: "key"}
)

// inPool runs a test in a bubble of fake time, with a pool. When the bubble
// ends it fails if a goroutine is left, and so does the test if a container is.
func inPool(t *testing.T, fake *sandboxtest.Fake, test func(t *testing.T, p *sandbox.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := sandbox.NewPool(fake, nil)
		test(t, p)
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if live := fake.Live(); live != 0 {
			t.Errorf("%d containers live after Close", live)
		}
		if n := fake.Overlaps(); n != 0 {
			t.Errorf("%d executions overlapped in a container", n)
		}
	})
}

func lease(t *testing.T, p *sandbox.Pool, r sandbox.LeaseRequest) *sandbox.Lease {
	t.Helper()
	l, err := p.Lease(r)
	if err != nil {
		t.Fatalf("Lease: %v", err)
	}
	return l
}

func run(t *testing.T, l *sandbox.Lease, code string) sandbox.Report {
	t.Helper()
	report, err := l.Run(t.Context(), code)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return report
}

// use leases a container, runs code in it, releases it and returns its id.
func use(t *testing.T, p *sandbox.Pool, r sandbox.LeaseRequest) string {
	t.Helper()
	l := lease(t, p, r)
	defer l.Release()
	run(t, l, "1")
	return l.ID()
}

func session(owner sandbox.Owner, id string) sandbox.LeaseRequest {
	return sandbox.LeaseRequest{Owner: owner, Session: id}
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestIdleContainerEndsWithoutAnyRequest(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		r := session(alice, "x")
		r.Limits.TTL = time.Minute
		use(t, p, r)
		time.Sleep(59 * time.Second)
		if fake.Live() != 1 {
			t.Error("ended before its TTL")
		}
		time.Sleep(10 * time.Second)
		if fake.Live() != 0 {
			t.Error("lives on after its TTL")
		}
	})
}

func TestEachUseStartsTheTTLAnew(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		r := session(alice, "x")
		r.Limits.TTL = time.Minute
		for range 10 {
			use(t, p, r)
			time.Sleep(50 * time.Second)
		}
		if fake.Created() != 1 || fake.Live() != 1 {
			t.Errorf("created %d, live %d", fake.Created(), fake.Live())
		}
	})
}

func TestContainerInUseDoesNotExpire(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		r := session(alice, "x")
		r.Limits.TTL = time.Minute
		id := use(t, p, r)
		held := lease(t, p, r)
		time.Sleep(time.Hour)
		// A second lease comes and goes; the first one still holds.
		use(t, p, r)
		time.Sleep(time.Hour)
		if fake.Live() != 1 || held.ID() != id {
			t.Error("a container in use expired")
		}
		held.Release()
		time.Sleep(2 * time.Minute)
		if fake.Live() != 0 {
			t.Error("lives on after its last use and its TTL")
		}
	})
}

// Between the end of the TTL and the next sweep the container still exists.
func TestExpiredContainerIsNotLeasedBeforeTheSweep(t *testing.T) {
	for name, again := range map[string]func(t *testing.T, p *sandbox.Pool, id string){
		"by session": func(t *testing.T, p *sandbox.Pool, id string) {
			if got := use(t, p, session(alice, "x")); got == id {
				t.Error("leased by its session")
			}
		},
		"by id": func(t *testing.T, p *sandbox.Pool, id string) {
			_, err := p.Lease(sandbox.LeaseRequest{Owner: alice, Container: id})
			wantError(t, err, sandbox.ErrExpired)
		},
		"by history": func(t *testing.T, p *sandbox.Pool, id string) {
			l := lease(t, p, sandbox.LeaseRequest{Owner: alice, History: []string{id}})
			defer l.Release()
			if l.ID() == id {
				t.Error("leased by history")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &sandboxtest.Fake{}
			inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
				r := session(alice, "x")
				r.Limits.TTL = time.Second // the sweeps are further apart
				id := use(t, p, r)
				time.Sleep(time.Second + time.Nanosecond)
				if fake.Live() != 1 {
					t.Fatal("swept already; the test shows nothing")
				}
				again(t, p, id)
				synctest.Wait()
				if first := fake.Containers()[0]; !first.Dead() {
					t.Error("the expired container was lost sight of")
				}
			})
		})
	}
}

func TestMintedKnowsThisPoolsIDs(t *testing.T) {
	inPool(t, &sandboxtest.Fake{}, func(t *testing.T, p *sandbox.Pool) {
		l := lease(t, p, session(alice, "x"))
		other := sandbox.NewPool(&sandboxtest.Fake{}, nil)
		defer other.Close(t.Context())
		if !p.Minted(l.ID()) || other.Minted(l.ID()) || p.Minted("cntr_1") {
			t.Error("ids are not told apart")
		}
		l.Release()
	})
}

func TestManyAtOnceKeepTheirPromises(t *testing.T) {
	fake := &sandboxtest.Fake{}
	inPool(t, fake, func(t *testing.T, p *sandbox.Pool) {
		limits := sandbox.Limits{TTL: 10 * time.Second, SessionsPerOwner: 3, MaxContainers: 12, MaxConcurrentExecutions: 4, ExecTimeout: time.Minute}
		owners := []sandbox.Owner{alice, bob, nobody}
		done := make(chan struct{})
		for i := range 60 {
			go func() {
				defer func() { done <- struct{}{} }()
				for j := range 30 {
					r := sandbox.LeaseRequest{Owner: owners[i%3], Session: string(rune('a' + (i+j)%5)), Limits: limits}
					if j%4 == 0 {
						r.Session = ""
					}
					l, err := p.Lease(r)
					if err != nil {
						if !slices.Contains([]error{sandbox.ErrTooManyContainers, sandbox.ErrTooManySessions}, err) {
							t.Error(err)
						}
						time.Sleep(time.Second)
						continue
					}
					if _, err := l.Run(t.Context(), "1"); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration((i*j)%7) * time.Second)
					l.Release()
				}
			}()
		}
		for range 60 {
			<-done
		}
		if peak := fake.Peak(); peak > 12 {
			t.Errorf("%d containers at a time", peak)
		}
		time.Sleep(time.Minute)
		if live := fake.Live(); live != 0 {
			t.Errorf("%d containers live after their TTL", live)
		}
	})
}
