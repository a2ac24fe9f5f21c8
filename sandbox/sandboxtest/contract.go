package sandboxtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

var contractTests = []test{
	{"a creation whose context has ended fails", func(s *session) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if c, err := s.provider.Create(ctx, sandbox.Spec{ID: "cntr_never"}); err == nil {
			c.Delete(context.Background())
			s.Error("got a container")
		}
	}},
	{"a creation ends soon after its context", func(s *session) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		began := time.Now()
		if c, err := s.provider.Create(ctx, sandbox.Spec{ID: "cntr_late"}); err == nil {
			c.Delete(context.Background()) // it was faster
		}
		if took := time.Since(began); took > patience/2 {
			s.Errorf("it took %v", took)
		}
	}},
	{"code whose context has ended is not started", func(s *session) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r, err := execute(ctx, s.container, "started = True")
		if err != nil || r.Outcome != sandbox.Interrupted {
			s.Errorf("got %+v, %v", r.Result, err)
		}
		if !r.Lost {
			s.prints("'started' in globals()", "False")
		}
	}},
	{"a deleted container runs no code, and can be deleted again", func(s *session) {
		for range 3 {
			if err := s.container.Delete(context.Background()); err != nil {
				s.Fatal(err)
			}
		}
		s.gone()
	}},
	{"deleting ends an execution", func(s *session) {
		started := make(chan struct{})
		finished := make(chan error, 1)
		go func() {
			_, err := s.container.Run(context.Background(), "print('on'); import time; time.sleep(600)",
				func(sandbox.Output) {
					select {
					case <-started:
					default:
						close(started)
					}
				})
			finished <- err
		}()
		within(s.T, started)
		if err := s.container.Delete(context.Background()); err != nil {
			s.Fatal(err)
		}
		select {
		case err := <-finished:
			if errors.Is(err, sandbox.ErrGone) {
				s.Error("the code was started, so ErrGone would have it run twice")
			}
		case <-time.After(patience):
			s.Fatal("Run did not return")
		}
	}},
	{"containers do not share state or files", func(s *session) { // cases/sandbox.md 57
		s.ok("secret = 1\nopen('/mnt/data/f', 'w').close()\nopen('/tmp/f', 'w').close()\nopen('/dev/shm/f', 'w').close()")
		s.prints("import os; [os.path.exists(d + '/f') for d in ('/mnt/data', '/tmp', '/dev/shm')]", "[True, True, True]")
		s.container = s.create()
		s.prints("import os; [os.path.exists(d + '/f') for d in ('/mnt/data', '/tmp', '/dev/shm')]", "[False, False, False]")
		s.prints("'secret' in globals()", "False")
	}},
	{"many containers work at once", func(s *session) {
		done := make(chan error, 8)
		for range cap(done) {
			c := s.create()
			go func() {
				_, err := execute(context.Background(), c, "sum(range(100000))")
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				s.Error(err)
			}
		}
	}},
}

func within(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}
