package local

import (
	"context"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// newLocal provisions the provider as a configuration does.
func newLocal(t *testing.T) *Local {
	t.Helper()
	l := &Local{Python: sandboxtest.Python()}
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	t.Cleanup(cancel)
	if err := l.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, func(t *testing.T) sandbox.Provider { return newLocal(t) })
}
