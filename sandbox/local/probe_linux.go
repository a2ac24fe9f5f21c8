package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// probeTime bounds the probe, which takes a fraction of a second.
const probeTime = 30 * time.Second

// probe makes a container, has it add, and deletes it.
func (p *provider) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	c, err := p.create(ctx, sandbox.Spec{ID: "probe"}, nil)
	if err != nil {
		return err
	}
	defer c.Delete(context.WithoutCancel(ctx))
	var value string
	result, err := c.Run(ctx, "1+1", func(out sandbox.Output) { value += out.Text })
	if err != nil {
		return err
	}
	if result.Outcome != sandbox.Completed || value != "2" {
		return errors.New("the interpreter does not work in a container")
	}
	return nil
}

// switches are settings of systems that keep users from making namespaces.
var switches = []struct{ path, off, remedy string }{
	{"/proc/sys/user/max_user_namespaces", "0", "set the sysctl user.max_user_namespaces to a number like 10000"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", "set the sysctl kernel.unprivileged_userns_clone to 1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "set the sysctl " +
		"kernel.apparmor_restrict_unprivileged_userns to 0, or give Caddy an AppArmor profile that allows userns"},
}

// explain adds to an error of the kernel what the operator can do about it.
func explain(err error) error {
	text := err.Error()
	denied := errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EUSERS) ||
		strings.Contains(text, unix.EPERM.Error()) || strings.Contains(text, unix.EACCES.Error())
	switch {
	case strings.Contains(text, "making it read-only: "+unix.ENOSYS.Error()):
		return fmt.Errorf("%w (Linux 5.12 or later is needed)", err)
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w (this kernel lacks a kind of namespace)", err)
	case !denied:
		return err
	}
	for _, s := range switches {
		if value, readErr := os.ReadFile(s.path); readErr == nil && strings.TrimSpace(string(value)) == s.off {
			return fmt.Errorf("%w (the system does not let Caddy make user namespaces: %s)", err, s.remedy)
		}
	}
	if errors.Is(err, unix.EACCES) && strings.Contains(text, "/proc/self/exe") {
		return fmt.Errorf("%w (every user must be allowed to execute the Caddy binary)", err)
	}
	if strings.Contains(text, "mounting /proc") {
		return fmt.Errorf("%w (Caddy seems to run in a container that hides parts of /proc: "+
			"start that with --security-opt systempaths=unconfined)", err)
	}
	return fmt.Errorf("%w (if Caddy runs in a container: its runtime must allow user namespaces and mounts, "+
		"as with --security-opt seccomp=unconfined --security-opt apparmor=unconfined)", err)
}
