// Package interceptor speaks the protocol: it turns OpenAI's native
// code_interpreter tool into a function tool, drives the upstream turn by turn
// while the model calls that function, and answers in the native shape. It
// knows neither Caddy nor any sandbox provider.
//
// The way of a request: Inspect (gate.go) decides whether a body concerns us;
// parseRequest (request.go) validates it and rewrites it; the exchange
// (loop.go) asks the Upstream for a turn, whose answer a turnReader (turn.go)
// decodes as it arrives, runs the calls in the leased container, and goes on
// until the model is done. What the client sees of it is a view: jsonView
// answers at the end, streamView as it happens.
package interceptor

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// Config is what the operator decides, with every default filled in.
type Config struct {
	ToolName        string
	ToolDescription string
	MaxTurns        int
	MaxExecutions   int
	RequestTimeout  time.Duration
	MaxResponse     int64
	MaxEvent        int
	MaxCode         int
	// MaxOutput bounds what the model is told of one execution, in bytes.
	MaxOutput int
	// AlwaysOutputs shows outputs also to clients that did not include them.
	AlwaysOutputs bool
	// ForwardLiteLLMMetadata keeps "litellm_metadata" in the upstream's body.
	ForwardLiteLLMMetadata bool
	Keepalive              time.Duration
	Limits                 sandbox.Limits
}

// Upstream performs one turn of an exchange.
type Upstream interface {
	// Turn sends body upstream and hands the answer over as it arrives. It
	// returns when the answer has ended: nil when it ended well, an error of
	// this package's, or the error of the handler behind, with nothing
	// handed over. Turns of one request never overlap.
	Turn(ctx context.Context, body []byte, answer Answer) error
}

// Answer receives what the upstream answers to one turn.
type Answer interface {
	// Start is called once, before any Write.
	Start(status int, header http.Header) error
	// Write takes the next bytes of the body. The caller keeps p.
	Write(p []byte) (int, error)
}

// Interceptor serves the requests of one handler.
type Interceptor struct {
	Config  Config
	Pool    *sandbox.Pool
	Records *Records
	Log     *zap.Logger
}

// Request is a client's request that Inspect found to concern us.
type Request struct {
	Kind    Kind
	Body    []byte
	Owner   sandbox.Owner
	Session string
}

// Serve answers a request. An error is the handler's behind, returned before
// anything was written, for Caddy to deal with (decision 20).
func (i *Interceptor) Serve(ctx context.Context, w http.ResponseWriter, up Upstream, r Request) error {
	req, err := i.parseRequest(r)
	if err != nil {
		var api *APIError
		if errors.As(err, &api) {
			api.Write(w)
			return nil
		}
		return err
	}
	if r.Kind != KindResponses {
		return i.forwardOnce(ctx, w, up, req)
	}
	lease, err := i.Pool.Lease(sandbox.LeaseRequest{
		Owner: r.Owner, Session: r.Session, Container: req.container,
		History: req.historyContainers, Limits: i.Config.Limits,
	})
	if err != nil {
		leaseError(err, req.container).Write(w)
		return nil
	}
	defer lease.Release()
	return i.newExchange(req, lease, up).run(ctx, w)
}
