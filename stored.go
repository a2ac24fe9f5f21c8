package codeinterp

import (
	"context"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/codeinterp/caddy-code-interpreter/interceptor"
)

// serveStored answers GET and DELETE of a response that ran code here, and GET
// of its input items; every other request goes on untouched.
func (h *Handler) serveStored(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if !*h.Enabled || r.Method != http.MethodGet && r.Method != http.MethodDelete || h.shared.records.Empty() {
		return next.ServeHTTP(w, r)
	}
	prefix, id, inputItems, ok := interceptor.ResponsePath(r.URL.Path)
	owner := h.owner(r)
	if !ok || !h.shared.records.Has(owner, id) {
		return next.ServeHTTP(w, r)
	}
	i := &interceptor.Interceptor{Config: h.config, Pool: h.shared.pool, Records: h.shared.records, Log: h.logger}
	up := newUpstream(r, next)
	switch {
	case inputItems && r.Method == http.MethodGet:
		return i.InputItems(r.Context(), w, func(ctx context.Context, answer interceptor.Answer) error {
			return up.Turn(ctx, nil, answer)
		})
	case inputItems:
		return next.ServeHTTP(w, r)
	case r.Method == http.MethodGet:
		i.Retrieve(w, r, owner, id)
	default:
		i.Delete(r.Context(), w, owner, id, func(ctx context.Context, upstreamID string, answer interceptor.Answer) error {
			return up.at(prefix+upstreamID).Turn(ctx, nil, answer)
		})
	}
	return nil
}
