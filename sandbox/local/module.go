// Package local is the sandbox provider that needs nothing but Linux and a
// python3: every container is a set of namespaces that Caddy makes itself.
//
// What keeps the code in: user, mount, PID, network, IPC, UTS and cgroup
// namespaces; a root of its own with the interpreter read-only; a user that is
// never the host's root; no capabilities, no new privileges; a seccomp filter;
// resource limits and bounded file systems. Package jail builds it.
package local

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

func init() {
	caddy.RegisterModule(Local{})
}

// Defaults of the options.
const (
	defaultPython    = "python3"
	defaultMemory    = 4 << 30
	defaultProcesses = 64
	defaultOpenFiles = 256
	defaultDisk      = 512 << 20
	defaultFirstUID  = 200000
	defaultUIDs      = 65536
)

// Local runs the code in Linux namespaces of its own, on this machine.
//
// It works when Caddy is root, and also when it is not, if the system lets
// users make user namespaces. Loading the configuration fails, and says why,
// when the code cannot be isolated; it is never run without.
type Local struct {
	// Python is the interpreter: a name that is looked up in PATH, or a
	// path, also into a virtual environment. It must be version 3.9 or
	// later. The code can use the packages that it has. Placeholders like
	// {env.PYTHON} are replaced. Default: python3.
	Python string `json:"python,omitempty"`

	// Memory is the address space that each process of a container may
	// have, in bytes; what exceeds it raises MemoryError.
	// Default: 4294967296 (4 GiB).
	Memory int64 `json:"memory,omitempty"`

	// Processes is how many processes and threads a container may have at
	// a time. Default: 64.
	Processes int `json:"processes,omitempty"`

	// OpenFiles is how many files each process may have open.
	// Default: 256.
	OpenFiles int `json:"open_files,omitempty"`

	// Disk is how much the files in /mnt/data may take, in bytes. They are
	// kept in memory. Default: 536870912 (512 MiB).
	Disk int64 `json:"disk,omitempty"`

	// FirstUID is the first of the user and group ids of this machine that
	// containers run as when Caddy is root; each gets one that no other
	// container has. Nothing else on the machine should use them.
	// Default: 200000.
	FirstUID uint32 `json:"first_uid,omitempty"`

	// UIDs is how many such ids there are, and with that how many
	// containers at a time. Default: 65536.
	UIDs uint32 `json:"uids,omitempty"`

	// Env is added to the environment of the code, which otherwise has
	// only what a container needs, and nothing of Caddy's own.
	// Default: none.
	Env map[string]string `json:"env,omitempty"`

	jails *provider
}

// CaddyModule returns the Caddy module information.
func (Local) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.code_interpreter.sandboxes.local",
		New: func() caddy.Module { return new(Local) },
	}
}

// Provision checks the options, asks the interpreter where its files are, and
// runs something once in a container, to fail now rather than later.
func (l *Local) Provision(ctx caddy.Context) error {
	l.setDefaults()
	if err := l.check(); err != nil {
		return err
	}
	repl := caddy.NewReplacer()
	python, err := repl.ReplaceOrErr(l.Python, true, true)
	if err != nil {
		return fmt.Errorf("option python: %w", err)
	}
	env := make(map[string]string, len(l.Env))
	for name, value := range l.Env {
		if env[name], err = repl.ReplaceOrErr(value, true, false); err != nil {
			return fmt.Errorf("option env %s: %w", name, err)
		}
	}
	settings := settings{
		Python: python, Memory: l.Memory, Processes: l.Processes, OpenFiles: l.OpenFiles,
		Disk: l.Disk, FirstUID: l.FirstUID, UIDs: l.UIDs, Env: env,
	}
	l.jails, err = provision(ctx, settings)
	return err
}

// setDefaults fills in what the configuration leaves out.
func (l *Local) setDefaults() {
	l.Python = orDefault(l.Python, defaultPython)
	l.Memory = orDefault(l.Memory, defaultMemory)
	l.Processes = orDefault(l.Processes, defaultProcesses)
	l.OpenFiles = orDefault(l.OpenFiles, defaultOpenFiles)
	l.Disk = orDefault(l.Disk, defaultDisk)
	l.FirstUID = orDefault(l.FirstUID, defaultFirstUID)
	l.UIDs = orDefault(l.UIDs, defaultUIDs)
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (l *Local) check() error {
	switch {
	case l.Memory < 128<<20:
		return errors.New("option memory: at least 128MiB are needed to start Python")
	case l.Processes < 1 || l.Processes > 32768:
		return errors.New("option processes: must be from 1 to 32768")
	case l.OpenFiles < 32 || l.OpenFiles > 1<<20:
		return errors.New("option open_files: must be from 32 to 1048576")
	case l.Disk < 1<<20:
		return errors.New("option disk: at least 1MiB is needed")
	case l.UIDs < 1 || uint64(l.FirstUID)+uint64(l.UIDs) > math.MaxUint32:
		return errors.New("option uids: the range must hold at least one id and end before 4294967295")
	}
	for name, value := range l.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("option env: %q is not a valid variable", name)
		}
	}
	return nil
}

// settings are the options after defaults and placeholders.
type settings struct {
	Python    string
	Memory    int64
	Processes int
	OpenFiles int
	Disk      int64
	FirstUID  uint32
	UIDs      uint32
	Env       map[string]string
}

// Interface guards
var (
	_ caddy.Module      = (*Local)(nil)
	_ caddy.Provisioner = (*Local)(nil)
	_ sandbox.Provider  = (*Local)(nil)
)
