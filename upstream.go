package codeinterp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/codeinterp/caddy-code-interpreter/interceptor"
)

// upstream performs turns through the handlers behind this one.
//
// The same request is used for every turn, restored in place to what it was at
// entry: Caddy's placeholders close over it, so that a clone would show the
// handlers behind stale values, and rewrites would add up on one that is not
// restored.
type upstream struct {
	r      *http.Request
	next   caddyhttp.Handler
	method string
	url    url.URL
	uri    string
	header http.Header
	groups map[string]struct{} // the route groups that were satisfied at entry
	ctx    context.Context     // of the request at entry
	vars   map[string]any      // as they were at entry
	turns  int
}

// routeGroup is the context key under which Caddy notes which groups of routes
// (handle, handle_path, …) have had their turn. Without a fresh copy for each
// turn the second would be a silent no-op.
const routeGroup = caddy.CtxKey("route_group")

func newUpstream(r *http.Request, next caddyhttp.Handler) *upstream {
	u := &upstream{r: r, next: next, method: r.Method, url: *r.URL, uri: r.RequestURI, header: r.Header.Clone(), ctx: r.Context()}
	if vars, ok := u.ctx.Value(caddyhttp.VarsCtxKey).(map[string]any); ok {
		u.vars = maps.Clone(vars)
	}
	if groups, ok := r.Context().Value(routeGroup).(map[string]struct{}); ok {
		u.groups = maps.Clone(groups)
	}
	return u
}

// notOnTurns are headers that belong to the client's own exchange with us.
var notOnTurns = []string{
	"Accept-Encoding", "Expect", "Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
	"If-Range", "Incremental", "Te", "Trailer", "Transfer-Encoding", "Content-Encoding", "Content-Md5", "Digest", "Content-Digest",
}

// restore puts the request back to what it was at entry, with the turn's body;
// nil is for methods that have none.
func (u *upstream) restore(body []byte) {
	r := u.r
	r.Method, r.RequestURI = u.method, u.uri
	*r.URL = u.url
	clear(r.Header)
	for name, values := range u.header {
		r.Header[name] = append([]string(nil), values...)
	}
	for _, name := range notOnTurns {
		r.Header.Del(name)
	}
	if u.turns++; u.turns > 1 {
		// It is of the client's request and its first turn; an upstream that
		// honours it would answer another body with the first one's answer.
		r.Header.Del("Idempotency-Key")
	}
	r.TransferEncoding, r.Trailer = nil, nil
	r.ContentLength = int64(len(body))
	if body == nil {
		r.Header.Del("Content-Length")
		r.Body, r.GetBody = http.NoBody, nil
		return
	}
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
}

// at lets turns go to another path than the client's.
func (u *upstream) at(path string) *upstream {
	moved := *u
	moved.url.Path, moved.url.RawPath = path, ""
	moved.uri = moved.url.RequestURI()
	return &moved
}

// Turn implements interceptor.Upstream.
func (u *upstream) Turn(ctx context.Context, body []byte, answer interceptor.Answer) error {
	if ctx.Err() != nil {
		return interceptor.ErrClientGone
	}
	u.restore(body)
	if u.groups != nil {
		ctx = context.WithValue(ctx, routeGroup, maps.Clone(u.groups))
	}
	ctx = u.withVars(ctx)
	w := &capture{answer: answer, header: http.Header{}}
	err := u.serve(w, u.r.WithContext(ctx))
	switch {
	case ctx.Err() != nil:
		return interceptor.ErrClientGone
	case w.err != nil:
		return w.err // the answer's own error explains what came of it
	case err != nil:
		return err
	case w.status == 499:
		return interceptor.ErrClientGone
	case w.status == 0:
		return interceptor.ErrNoAnswer
	}
	return w.start()
}

// withVars gives the turn variables of its own. A dial that the transport began
// for the turn before may still be under way and read that turn's, which are a
// plain map, while reverse_proxy sets this turn's. The request itself gets them
// too, since placeholders, and the handlers in front afterwards, look there.
func (u *upstream) withVars(ctx context.Context) context.Context {
	if u.vars == nil {
		return ctx
	}
	vars := maps.Clone(u.vars)
	*u.r = *u.r.WithContext(context.WithValue(u.ctx, caddyhttp.VarsCtxKey, vars))
	return context.WithValue(ctx, caddyhttp.VarsCtxKey, vars)
}

// serve calls next; reverse_proxy panics with http.ErrAbortHandler when the
// upstream dies in mid-body.
func (u *upstream) serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			err = fmt.Errorf("%w in mid-body", interceptor.ErrAborted)
		}
	}()
	return u.next.ServeHTTP(w, r)
}
