package codeinterp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// An identity without a placeholder would make one owner of all requests, who
// then share their sessions.
func TestAnIdentityThatIsTheSameForAllIsRefused(t *testing.T) {
	for text, ok := range map[string]bool{
		"":                            true,
		"{http.auth.user.id}":         true,
		"{http.vars.a}-{http.vars.b}": true,
		"team-{header.X-Team}":        true,
		"{http.auth.user.idd":         false,
		"user":                        false,
		"{}":                          false,
		"{http.auth.user.id}}":        false,
		"{a b}":                       false,
	} {
		for _, h := range []*Handler{{Identity: text}, {Session: text}, {Provider: text}} {
			h.setDefaults()
			if err := h.Validate(); (err == nil) != ok {
				t.Errorf("%+q: %v", text, err)
			}
		}
	}
}

// What is left of an identity when a placeholder in it is empty is the same
// for many.
func TestAnIdentityWithAnEmptyPlaceholderIsNobodys(t *testing.T) {
	for _, c := range []struct {
		user, team string
		anonymous  bool
	}{
		{"alice", "red", false}, {"alice", "", true}, {"", "red", true}, {"", "", true},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/responses", nil)
		repl := caddy.NewReplacer()
		repl.Set("test.user", c.user)
		repl.Set("test.team", c.team)
		r = r.WithContext(context.WithValue(r.Context(), caddy.ReplacerCtxKey, repl))
		h := &Handler{Identity: "{test.team}/{test.user}"}
		if owner := h.owner(r); owner.Anonymous() != c.anonymous {
			t.Errorf("%+v: %+v", c, owner)
		}
	}
}
