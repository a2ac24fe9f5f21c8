package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

func init() {
	caddy.RegisterModule(Fake{})
	caddy.RegisterModule(Memory{})
}

// fakes are the tests' fakes by name.
var fakes struct {
	sync.Mutex
	byName map[string]*sandboxtest.Fake
}

// newFake makes a fake whose executions put out "ran", the number of their
// container, and the code.
func newFake() (string, *sandboxtest.Fake) {
	fakes.Lock()
	defer fakes.Unlock()
	if fakes.byName == nil {
		fakes.byName = map[string]*sandboxtest.Fake{}
	}
	name := fmt.Sprintf("fake%d", len(fakes.byName)+1)
	f := &sandboxtest.Fake{OnRun: ran}
	fakes.byName[name] = f
	return name, f
}

func ran(_ context.Context, c *sandboxtest.FakeContainer, code string, emit func(sandbox.Output)) (sandbox.Result, error) {
	emit(sandbox.Output{Kind: sandbox.Text, Text: fmt.Sprintf("ran in %d: %s\n", c.Number, code)})
	return sandbox.Result{}, nil
}

// Fake is the sandbox provider of tests that control what the sandbox does.
type Fake struct {
	Name string `json:"name,omitempty"`

	*sandboxtest.Fake `json:"-"`
}

// CaddyModule returns the Caddy module information.
func (Fake) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.code_interpreter.sandboxes.fake",
		New: func() caddy.Module { return new(Fake) },
	}
}

// Provision finds the test's fake.
func (f *Fake) Provision(caddy.Context) error {
	fakes.Lock()
	defer fakes.Unlock()
	f.Fake = fakes.byName[f.Name]
	if f.Fake == nil {
		return fmt.Errorf("no fake named %q", f.Name)
	}
	return nil
}

// UnmarshalCaddyfile sets up the provider from Caddyfile tokens. Syntax:
//
//	fake <name>
func (f *Fake) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if !d.Args(&f.Name) || d.NextArg() {
		return d.ArgErr()
	}
	return nil
}

// Memory is the log writer of the tests.
type Memory struct{}

// CaddyModule returns the Caddy module information.
func (Memory) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "caddy.logging.writers.memory", New: func() caddy.Module { return new(Memory) }}
}

func (Memory) String() string    { return "memory" }
func (Memory) WriterKey() string { return "memory" }

// OpenWriter returns the writer into memory.
func (Memory) OpenWriter() (io.WriteCloser, error) { return &logs, nil }

// UnmarshalCaddyfile takes no options.
func (*Memory) UnmarshalCaddyfile(*caddyfile.Dispenser) error { return nil }

// logs holds everything that Caddy has logged in this test.
var logs logBuffer

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (*logBuffer) Close() error { return nil }

func (l *logBuffer) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Reset()
}

func (l *logBuffer) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(l.buf.String(), "\n")
}

// line returns the first line that holds the text.
func (l *logBuffer) line(text string) string {
	for _, line := range l.lines() {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// Interface guards
var (
	_ caddy.Provisioner     = (*Fake)(nil)
	_ caddyfile.Unmarshaler = (*Fake)(nil)
	_ sandbox.Provider      = (*Fake)(nil)
	_ caddy.WriterOpener    = (*Memory)(nil)
	_ caddyfile.Unmarshaler = (*Memory)(nil)
)
