package interceptor

import (
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/internal/wirecheck"
)

// checkStream holds what a client got to what the strictest client takes.
func checkStream(t *testing.T, body string) {
	t.Helper()
	events, err := wirecheck.ParseStream([]byte(body))
	if err != nil {
		t.Errorf("the stream is broken: %v", err)
	}
	if err := wirecheck.Check(events); err != nil {
		t.Errorf("the stream is wrong: %v", err)
	}
}
