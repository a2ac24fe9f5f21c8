package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

func provisionWith(t *testing.T, l *Local) error {
	t.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	return l.Provision(ctx)
}

func TestProvisionUnderstandsInterpreters(t *testing.T) {
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command(sandboxtest.Python(), "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Fatalf("making a virtual environment: %v: %s", err, out)
	}
	site, err := filepath.Glob(filepath.Join(venv, "lib/python3*/site-packages"))
	if err != nil || len(site) != 1 {
		t.Fatal(site, err)
	}
	if err := os.WriteFile(filepath.Join(site[0], "only_here.py"), []byte("answer = 42"), 0o644); err != nil {
		t.Fatal(err)
	}
	// A wrapper like pyenv's: a script that is not there in a container.
	shim := filepath.Join(t.TempDir(), "python3")
	script := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", filepath.Join(venv, "bin/python"))
	if err := os.WriteFile(shim, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_PYTHON", shim)
	for _, python := range []string{filepath.Join(venv, "bin/python"), shim, "{env.TEST_PYTHON}"} {
		l := &Local{Python: python}
		if err := provisionWith(t, l); err != nil {
			t.Errorf("%s: %v", python, err)
			continue
		}
		c, err := l.Create(context.Background(), sandbox.Spec{})
		if err != nil {
			t.Errorf("%s: %v", python, err)
			continue
		}
		if got := output(t, c, "import sys, only_here; sys.prefix, only_here.answer"); got != fmt.Sprintf("('%s', 42)", venv) {
			t.Errorf("%s: got %s", python, got)
		}
		c.Delete(context.Background())
	}
}

func TestProvisionFindsThePython3OfThePath(t *testing.T) {
	l := &Local{}
	if err := provisionWith(t, l); err != nil {
		t.Error(err)
	}
}

func TestProvisionErrorsNameTheRemedy(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct{ python, want string }{
		{"no-such-python", "option python"},
		{"{env.NO_SUCH_VARIABLE}", "option python"},
		{script("silent", "exit 0"), "it is no Python"},
		{script("failing", "echo broken >&2; exit 1"), "broken"},
		{script("old", `echo '{"executable":"/x","prefixes":["/usr"],"version":[3,8]}'`), "3.9 or later"},
		{script("root", `echo '{"executable":"/x","prefixes":["/"],"version":[3,11]}'`), "root directory"},
		{script("lying", `echo '{"executable":"/no/python","prefixes":["/usr"],"version":[3,11]}'`), "/no/python"},
	} {
		err := provisionWith(t, &Local{Python: tt.python})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.python, err, tt.want)
		}
	}
}

func TestKernelErrorsNameTheRemedy(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("mounting /proc: %w", unix.EPERM), "systempaths=unconfined"},
		{fmt.Errorf("fork/exec: %w", unix.EPERM), "user namespaces"},
		{fmt.Errorf("opening /usr: making it read-only: %w", unix.ENOSYS), "5.12"},
		{fmt.Errorf("fork/exec /proc/self/exe: %w", unix.EACCES), "execute the Caddy binary"},
		{errors.New("something else"), "something else"},
	} {
		if got := explain(tt.err).Error(); !strings.Contains(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestProvisionProbesOncePerSettings(t *testing.T) {
	first := newLocal(t)
	began := time.Now()
	second := newLocal(t)
	if first.jails != second.jails {
		t.Errorf("the same settings were probed again, for %v", time.Since(began))
	}
}

// A pool goes on with a provider whose configuration is gone.
func TestProvisionedProviderOutlivesItsConfiguration(t *testing.T) {
	l := &Local{Python: sandboxtest.Python()}
	if err := provisionWith(t, l); err != nil { // which has ended its context
		t.Fatal(err)
	}
	c, err := l.Create(context.Background(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Delete(context.Background())
	if got := output(t, c, "1+1"); got != "2" {
		t.Errorf("got %q", got)
	}
}

func TestEnvOptionReachesTheCode(t *testing.T) {
	l := &Local{Python: sandboxtest.Python(), Env: map[string]string{"GREETING": "{env.TEST_GREETING}", "TZ": "Asia/Tokyo"}}
	t.Setenv("TEST_GREETING", "hello")
	if err := provisionWith(t, l); err != nil {
		t.Fatal(err)
	}
	c, err := l.Create(context.Background(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Delete(context.Background())
	if got := output(t, c, "import os, time; os.environ['GREETING'], time.tzname[0]"); got != "('hello', 'JST')" {
		t.Errorf("got %s", got)
	}
}
