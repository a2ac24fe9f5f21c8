//go:build !linux

package local

import (
	"context"
	"errors"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

var errNotLinux = errors.New("the local sandbox provider needs Linux, since it is made of namespaces")

type provider struct{}

func provision(context.Context, settings) (*provider, error) { return nil, errNotLinux }

// Create fails: there are no containers on this system.
func (*Local) Create(context.Context, sandbox.Spec) (sandbox.Container, error) {
	return nil, errNotLinux
}
