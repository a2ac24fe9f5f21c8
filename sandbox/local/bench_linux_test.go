package local

import (
	"context"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

func benchmarkLocal(b *testing.B) *Local {
	b.Helper()
	l := &Local{Python: sandboxtest.Python()}
	if err := l.Provision(caddy.Context{Context: context.Background()}); err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkCreate is a container's whole life with one cell.
func BenchmarkCreate(b *testing.B) {
	l := benchmarkLocal(b)
	for b.Loop() {
		c, err := l.Create(context.Background(), sandbox.Spec{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Run(context.Background(), "1+1", func(sandbox.Output) {}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		c.Delete(context.Background())
		b.StartTimer()
	}
}

// BenchmarkRun is one cell in a container that is there.
func BenchmarkRun(b *testing.B) {
	l := benchmarkLocal(b)
	c, err := l.Create(context.Background(), sandbox.Spec{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Delete(context.Background())
	for b.Loop() {
		if _, err := c.Run(context.Background(), "1+1", func(sandbox.Output) {}); err != nil {
			b.Fatal(err)
		}
	}
}
