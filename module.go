package codeinterp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/codeinterp/caddy-code-interpreter/interceptor"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

func init() {
	caddy.RegisterModule(new(Handler))
}

// Handler gives OpenAI's code_interpreter tool to the upstream behind it. It
// belongs in front of reverse_proxy. Requests that do not use the tool pass
// through untouched.
//
// A request to …/responses whose tools hold {"type": "code_interpreter"} goes
// upstream with a function tool instead; when the model calls it, its Python
// code runs in a sandbox, and the model gets the output, until it answers. The
// client sees one response in OpenAI's native shape, streamed or not.
type Handler struct {
	// Whether the handler does anything; when false, every request passes
	// through. Default: `true`.
	Enabled *bool `json:"enabled,omitempty"`

	// The sandbox in which code runs. Default: the `local` provider, which
	// isolates with Linux namespaces on this machine.
	SandboxRaw json.RawMessage `json:"sandbox,omitempty" caddy:"namespace=http.handlers.code_interpreter.sandboxes inline_key=provider"`

	// How long a container of a session is kept after its last use.
	// Range: 1s to 24h. Default: `20m`, as OpenAI's.
	TTL caddy.Duration `json:"ttl,omitempty"`

	// How many requests may go upstream for one request of a client, the
	// last one, in which the model must answer without the tool, included.
	// Range: 2 to 1000. Default: `20`.
	MaxTurns int64 `json:"max_turns,omitempty"`

	// How many executions one request may make. Range: 1 to 10000.
	// Default: `40`.
	MaxExecutions int64 `json:"max_executions,omitempty"`

	// How long one execution may take, and how long it may wait for its turn
	// before the model is told that the interpreter is busy.
	// Range: 100ms to 24h. Default: `60s`.
	ExecTimeout caddy.Duration `json:"exec_timeout,omitempty"`

	// How long a request may go on starting turns and executions. It is
	// checked between them: a turn without a call of ours is not cut.
	// Range: 1s to 24h. Default: `9m30s`, below the SDKs' ten minutes.
	RequestTimeout caddy.Duration `json:"request_timeout,omitempty"`

	// How many executions may run at once, over all requests that share the
	// sandbox. Range: 1 to 100000. Default: twice the number of CPUs.
	MaxConcurrentExecutions int64 `json:"max_concurrent_executions,omitempty"`

	// The largest request body that is read for the tool, in bytes.
	// Range: 1KiB to 1GiB. Default: `64MiB`.
	MaxRequestBody int64 `json:"max_request_body,omitempty"`

	// The largest upstream answer of one turn, in bytes.
	// Range: 1KiB to 1GiB. Default: `64MiB`.
	MaxResponse int64 `json:"max_response,omitempty"`

	// The largest event of a streamed upstream answer, in bytes.
	// Range: 1KiB to 1GiB. Default: `16MiB`.
	MaxEvent int64 `json:"max_event,omitempty"`

	// The longest code of one call, in bytes; longer code is not run and the
	// model is told so. Range: 1KiB to 64MiB. Default: `1MiB`.
	MaxCode int64 `json:"max_code,omitempty"`

	// How much of an execution's output the model is told, in bytes: head and
	// tail are kept. Range: 256B to 16MiB. Default: `64KiB`.
	MaxOutput int64 `json:"max_output,omitempty"`

	// How many containers of sessions one identity may keep; the least
	// recently used gives way. Range: 1 to 100000. Default: `10`.
	SessionsPerIdentity int64 `json:"sessions_per_identity,omitempty"`

	// How many containers there may be, over all requests that share the
	// sandbox. Range: 1 to 100000. Default: `256`.
	MaxContainers int64 `json:"max_containers,omitempty"`

	// Who a request belongs to, as a placeholder, for example
	// `{http.auth.user.id}`. An identity never sees another's containers;
	// a request without one gets no sessions.
	// Default: a hash of the credentials (Authorization, X-Api-Key, Api-Key).
	Identity string `json:"identity,omitempty"`

	// The session of a request, as a placeholder. Requests of one identity
	// with the same session share a container. Default: the body's
	// `metadata.session_id`, then `litellm_metadata.session_id`.
	Session string `json:"session,omitempty"`

	// The models whose requests are served, as globs (`gpt-*`); others pass
	// through. Default: all.
	Models []string `json:"models,omitempty"`

	// The providers whose requests are served; others pass through. The
	// provider is the part of `model` before the first slash. Default: all.
	EnabledProviders []string `json:"enabled_providers,omitempty"`

	// The provider of a request, as a placeholder, in place of the model's
	// first part.
	Provider string `json:"provider,omitempty"`

	// Which clients see the outputs of executions: `requested`, those that
	// send `include: ["code_interpreter_call.outputs"]`, or `always`.
	// Default: `requested`, as OpenAI's.
	Outputs string `json:"outputs,omitempty"`

	// The name under which the model sees the tool. Clients never see it.
	// Default: `run_python`.
	ToolName string `json:"tool_name,omitempty"`

	// What the model is told about the tool.
	ToolDescription string `json:"tool_description,omitempty"`

	// How long a stream may be quiet before a comment is sent.
	// Range: 1s to 1h. Default: `10s`.
	Keepalive caddy.Duration `json:"keepalive,omitempty"`

	// Whether `litellm_metadata` goes upstream when the tool is present.
	// Default: `false`.
	ForwardLiteLLMMetadata bool `json:"forward_litellm_metadata,omitempty"`

	provider sandbox.Provider
	poolKey  string
	shared   *shared // this configuration's share; set once
	sharing  bool    // the share was not given back yet
	config   interceptor.Config
	scope    string
	logger   *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.code_interpreter",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision fills in the defaults and takes a share in the sandbox's pool.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	h.setDefaults()
	if h.SandboxRaw == nil {
		h.SandboxRaw = json.RawMessage(`{"provider":"local"}`)
	}
	if !*h.Enabled {
		return nil
	}
	key, err := poolKey(h.SandboxRaw)
	if err != nil {
		return err
	}
	mod, err := ctx.LoadModule(h, "SandboxRaw")
	if err != nil {
		return fmt.Errorf("loading sandbox: %w", err)
	}
	provider, ok := mod.(sandbox.Provider)
	if !ok {
		return fmt.Errorf("sandbox: module %T makes no containers", mod)
	}
	h.config = h.interceptorConfig()
	h.scope = digest("scope", h.Identity, h.Session)
	h.provider, h.poolKey = provider, key
	if h.shared, err = acquireShared(key, provider, h.logger); err != nil {
		return fmt.Errorf("making the container pool: %w", err)
	}
	h.sharing = true
	return nil
}

// Validate checks the options' ranges and the globs.
func (h *Handler) Validate() error {
	for _, o := range h.numbers() {
		if err := o.check(*o.value); err != nil {
			return err
		}
	}
	for _, check := range []func() error{
		h.checkOutputs, h.checkToolName, h.checkModels, h.checkIdentity, h.checkSession, h.checkProvider,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Cleanup gives the share in the pool back. Requests that are still served
// hold shares of their own, since Caddy cleans up before they are over.
func (h *Handler) Cleanup() error {
	if !h.sharing {
		return nil
	}
	h.sharing = false
	return releaseShared(h.poolKey)
}

// ServeHTTP passes a request on, or has it served by the interceptor.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	kind := h.kind(r)
	if kind == interceptor.KindNone {
		return h.serveStored(w, r, next)
	}
	body, err := readBody(r, h.MaxRequestBody, !h.shared.records.Empty())
	if err != nil {
		return refuseBody(w, err)
	}
	defer body.release()
	if !body.words {
		return body.passThrough(w, r, next)
	}
	// The request's own share keeps the pool over a reload. It is taken by
	// the key, since Cleanup may have been called already.
	pool, err := acquireShared(h.poolKey, h.provider, h.logger)
	if err != nil {
		return caddyhttp.Error(http.StatusInternalServerError, err)
	}
	defer func() { _ = releaseShared(h.poolKey) }()
	i := &interceptor.Interceptor{Config: h.config, Pool: pool.pool, Records: pool.records, Log: h.logger}

	owner := h.owner(r)
	// A body over the cap that holds the words may have the tool behind it.
	cut := !body.whole && interceptor.MayConcern(body.plain, false)
	if !cut && !i.Inspect(body.plain, owner) || !h.selects(r, body.plain) {
		return body.passThrough(w, r, next)
	}
	if !body.whole {
		return refuseBody(w, errBodyTooLarge)
	}
	session, err := h.session(r, body.plain)
	if err != nil {
		return refuseBody(w, err)
	}
	plain := body.detach()
	return i.Serve(r.Context(), w, newUpstream(r, next), interceptor.Request{
		Kind: kind, Body: plain, Owner: owner, Session: session,
	})
}

// kind says what the request is to us: a POST of JSON to a path we know.
func (h *Handler) kind(r *http.Request) interceptor.Kind {
	if !*h.Enabled || r.Method != http.MethodPost || !isJSON(r.Header.Get("Content-Type")) {
		return interceptor.KindNone
	}
	return interceptor.KindOf(r.URL.Path)
}

func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// Interface guards
var (
	_ caddy.Module                = (*Handler)(nil)
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ caddyfile.Unmarshaler       = (*Handler)(nil)
)
