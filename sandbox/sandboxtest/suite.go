// Package sandboxtest holds what a provider of package sandbox must do, as
// tests that every provider runs, and a provider in memory for the tests of
// others.
//
// Two rules: a test attempts the escape instead of reading a setting, and it
// proves first that its probe works, by a control that must succeed.
package sandboxtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// patience bounds what should take no time, on the slowest of machines.
const patience = 60 * time.Second

// Option changes which promises Run holds a provider to.
type Option func(*suite)

// WithNetwork says that the provider's containers reach a network on purpose.
func WithNetwork() Option { return func(s *suite) { s.network = true } }

type suite struct {
	newProvider func(t *testing.T) sandbox.Provider
	network     bool
}

// test is a promise, named by it.
type test struct {
	name string
	run  func(s *session)
}

// Run holds the provider that newProvider returns to the contract of package
// sandbox. Tests of it that concern the machine that a provider runs on are
// the provider's own.
func Run(t *testing.T, newProvider func(t *testing.T) sandbox.Provider, opts ...Option) {
	s := &suite{newProvider: newProvider}
	for _, opt := range opts {
		opt(s)
	}
	groups := []struct {
		name  string
		tests []test
	}{
		{"Contract", contractTests},
		{"State", stateTests},
		{"Output", outputTests},
		{"Echo", echoTests},
		{"Errors", errorTests},
		{"Figures", figureTests},
		{"Input", inputTests},
		{"Time", timeTests},
		{"Processes", processTests},
		{"Death", deathTests},
		{"Limits", limitTests},
		{"Isolation", isolationTests},
		{"Packages", packageTests},
	}
	if !s.network {
		groups = append(groups, struct {
			name  string
			tests []test
		}{"Network", networkTests})
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, tt := range g.tests {
				t.Run(tt.name, func(t *testing.T) { tt.run(s.newSession(t)) })
			}
		})
	}
}

// Python is the interpreter that tests shall use: the one that CODE_PYTHON
// names, else the system's, which has the packages that the tests need.
func Python() string {
	if name := os.Getenv("CODE_PYTHON"); name != "" {
		return name
	}
	const system = "/usr/bin/python3"
	if _, err := exec.LookPath(system); err == nil {
		return system
	}
	return "python3"
}

// session is a container in a test.
type session struct {
	*testing.T
	provider  sandbox.Provider
	container sandbox.Container
}

func (s *suite) newSession(t *testing.T) *session {
	t.Helper()
	n := &session{T: t, provider: s.newProvider(t)}
	n.container = n.create()
	return n
}

// create makes another container.
func (s *session) create() sandbox.Container {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := s.provider.Create(ctx, sandbox.Spec{ID: "cntr_test"})
	if err != nil {
		s.Fatalf("creating a container: %v", err)
	}
	s.Cleanup(func() {
		if err := c.Delete(context.Background()); err != nil {
			s.Errorf("deleting the container: %v", err)
		}
	})
	return c
}

// reply is what came of an execution.
type reply struct {
	sandbox.Result
	outputs []sandbox.Output
	took    time.Duration
}

// run executes code, which has to end by itself.
func (s *session) run(code string) reply {
	s.Helper()
	r := s.runFor(patience, code)
	if r.Outcome == sandbox.Interrupted {
		s.Fatalf("code did not end:\n%s\nits output: %s", code, r.all())
	}
	return r
}

// runFor executes code and interrupts it after a time.
func (s *session) runFor(limit time.Duration, code string) reply {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, err := execute(ctx, s.container, code)
	if err != nil {
		s.Fatalf("running code: %v\n%s", err, code)
	}
	return r
}

func execute(ctx context.Context, c sandbox.Container, code string) (r reply, err error) {
	began := time.Now()
	r.Result, err = c.Run(ctx, code, func(out sandbox.Output) { r.outputs = append(r.outputs, out) })
	r.took = time.Since(began)
	return r, err
}

// ok executes code that must complete, and returns its output.
func (s *session) ok(code string) string {
	s.Helper()
	r := s.run(code)
	if r.Outcome != sandbox.Completed {
		s.Fatalf("code did not complete: %+v\n%s\n%s", r.Result, code, r.all())
	}
	return r.all()
}

// prints executes code that must complete with this output.
func (s *session) prints(code, want string) {
	s.Helper()
	if got := s.ok(code); got != want {
		s.Errorf("got %q, want %q from:\n%s", got, want, code)
	}
}

// alive checks that the container still works.
func (s *session) alive() {
	s.Helper()
	s.prints("40+2", "42")
}

// gone checks that the container refuses to run code.
func (s *session) gone() {
	s.Helper()
	_, err := execute(context.Background(), s.container, "1")
	if !errors.Is(err, sandbox.ErrGone) {
		s.Errorf("got %v from a container that is lost, want ErrGone", err)
	}
}

// raises executes code that must end with an exception, and returns it.
func (s *session) raises(code string, want ...string) string {
	s.Helper()
	r := s.run(code)
	text := r.of(sandbox.Traceback)
	if r.Outcome != sandbox.Raised || r.Lost {
		s.Fatalf("got %+v, want an exception, from:\n%s\n%s", r.Result, code, r.all())
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.Errorf("the traceback lacks %q:\n%s", w, text)
		}
	}
	return text
}

// all is every text of the reply in order, images as their MIME type.
func (r reply) all() string {
	var b strings.Builder
	for _, out := range r.outputs {
		b.WriteString(out.Text)
		if out.Kind == sandbox.Image {
			b.WriteString("<" + out.MIME + ">")
		}
	}
	return b.String()
}

func (r reply) of(kind sandbox.OutputKind) string {
	var b strings.Builder
	for _, out := range r.outputs {
		if out.Kind == kind {
			b.WriteString(out.Text)
		}
	}
	return b.String()
}
