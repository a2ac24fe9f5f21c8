package codeinterp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/codeinterp/caddy-code-interpreter/interceptor"
	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// maxSession bounds a session id; only its hash is kept (cases/litellm.md D17).
const maxSession = 512

// processKey keys the hashes of credentials, so that one which is seen in a
// log or a dump says nothing about the credential.
var processKey = func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return key
}()

// digest hashes parts with their lengths, so that no two lists collide.
func digest(parts ...string) string {
	m := hmac.New(sha256.New, processKey)
	for _, p := range parts {
		m.Write([]byte{byte(len(p) >> 24), byte(len(p) >> 16), byte(len(p) >> 8), byte(len(p))})
		m.Write([]byte(p))
	}
	return hex.EncodeToString(m.Sum(nil)[:16])
}

// owner says who a request belongs to: the identity option's placeholder, or
// the credentials (decision 10). Nothing that the body says counts.
func (h *Handler) owner(r *http.Request) sandbox.Owner {
	kind, values := "key", credentials(r)
	if h.Identity != "" {
		kind, values = "placeholder", nil
		if v := strings.TrimSpace(replaceWhole(r, h.Identity)); v != "" {
			values = []string{v}
		}
	}
	if len(values) == 0 {
		return sandbox.Owner{}
	}
	return sandbox.Owner{Scope: h.scope, Kind: kind, Value: digest(append([]string{kind}, values...)...)}
}

// credentials are all that a request has, with their headers' names. Which one
// the upstream goes by is unknown, and the others may be the same for
// everybody: SDKs send a placeholder as Authorization when a gateway wants
// another header.
func credentials(r *http.Request) []string {
	var all []string
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key"} {
		for _, v := range r.Header.Values(name) {
			if v != "" {
				all = append(all, name, v)
			}
		}
	}
	return all
}

// session is the session id of a request, "" when it has none.
func (h *Handler) session(r *http.Request, body []byte) (string, error) {
	id, param := "", "metadata.session_id"
	if h.Session != "" {
		id, param = replace(r, h.Session), "session"
	} else if o, err := rawjson.ParseLenient(body); err == nil {
		for _, name := range []string{"metadata", "litellm_metadata"} {
			if m := o.Obj(name); m != nil && m.Str("session_id") != "" {
				id, param = m.Str("session_id"), name+".session_id"
				break
			}
		}
	}
	if len(id) > maxSession {
		return "", &interceptor.APIError{
			Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_value", Param: param,
			Message: "The session id is longer than 512 bytes.",
		}
	}
	if id == "" {
		return "", nil
	}
	return digest("session", id), nil
}

// selects applies the models, enabled_providers and provider options.
func (h *Handler) selects(r *http.Request, body []byte) bool {
	if len(h.Models) == 0 && len(h.EnabledProviders) == 0 {
		return true
	}
	model := ""
	if o, err := rawjson.ParseLenient(body); err == nil {
		model = o.Str("model")
	}
	if len(h.Models) > 0 && !slices.ContainsFunc(h.Models, func(glob string) bool {
		ok, _ := path.Match(flat(glob), flat(model))
		return ok
	}) {
		return false
	}
	if len(h.EnabledProviders) == 0 {
		return true
	}
	provider := ""
	if h.Provider != "" {
		provider = replace(r, h.Provider)
	} else if before, _, ok := strings.Cut(model, "/"); ok {
		provider = before
	}
	return slices.Contains(h.EnabledProviders, provider)
}

// flat lets a glob's wildcards match slashes, which in a model's name are no
// separators of a path.
func flat(name string) string {
	return strings.ReplaceAll(name, "/", "\x00")
}

func replace(r *http.Request, text string) string {
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return ""
	}
	return repl.ReplaceAll(text, "")
}

// replaceWhole replaces every placeholder, or returns "" when one of them is
// unknown or empty: what is left of the text would be the same for many.
func replaceWhole(r *http.Request, text string) string {
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return ""
	}
	whole, err := repl.ReplaceOrErr(text, true, true)
	if err != nil {
		return ""
	}
	return whole
}
