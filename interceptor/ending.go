package interceptor

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// end finishes the response with the turn.
func (ex *exchange) end(t *turn, status string, failure *APIError) error {
	if failure != nil {
		failure.NoRetry = ex.executions > 0
		if err := ex.passRest(t); err != nil {
			return nil
		}
	}
	_ = ex.view.finish(t, status, failure) // a client that is gone is no error of ours
	return nil
}

// passRest shows what there is of a turn that failed.
func (ex *exchange) passRest(t *turn) error {
	for _, it := range t.items {
		show := ex.view.pass
		if it.call != nil {
			it.call.status = statusIncomplete
			show = ex.view.called
		}
		it.settle(statusIncomplete)
		if err := show(it); err != nil {
			return err
		}
	}
	return nil
}

// broken deals with a turn that did not end well.
func (ex *exchange) broken(ctx context.Context, w http.ResponseWriter, t *turn, err error) error {
	switch {
	case ctx.Err() != nil || errors.Is(err, ErrClientGone):
		if !ex.view.begun() {
			w.WriteHeader(499)
		}
		return nil
	case ex.turns == 1 && !ex.view.begun() && !isOurs(err):
		return err // the handler's behind, for Caddy to log and render (decision 20)
	}
	ex.i.Log.Warn("turn failed", zap.Int("turn", ex.turns), zap.Error(err))
	if ex.turns == 1 && !ex.view.begun() {
		turnError(err).Write(w)
		return nil
	}
	return ex.end(t, statusFailed, turnError(err))
}

// isOurs tells this package's errors from those of the handler behind.
func isOurs(err error) bool {
	for _, ours := range []error{ErrAborted, ErrNoAnswer, ErrTooLarge, ErrClientGone} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}

// noResponse deals with an upstream answer that is no response: verbatim on
// the first turn, a failed response later (decision 17).
func (ex *exchange) noResponse(t *turn) error {
	if ex.turns == 1 && !ex.view.begun() {
		if t.failure != nil {
			return ex.view.finish(t, statusFailed, t.failure)
		}
		return ex.view.refused(t)
	}
	failure := t.failure
	if failure == nil {
		failure = upstreamRefusal(t, ex.req.toolName)
	}
	return ex.end(t, statusFailed, failure)
}

// upstreamRefusal reads the error out of an upstream's answer.
func upstreamRefusal(t *turn, toolName string) *APIError {
	e := &APIError{
		Status: http.StatusBadGateway, Type: "server_error", Code: "upstream_failed",
		Message: fmt.Sprintf("The upstream answered with status %d.", t.httpStatus),
	}
	if o, err := rawjson.ParseLenient(t.raw); err == nil {
		detail := o.Obj("error")
		if detail == nil {
			detail = o
		}
		if m := detail.Str("message"); m != "" {
			e.Message = publicName(m, toolName)
		}
		if c := detail.Str("code"); c != "" {
			e.Code = c
		}
	}
	return e
}

// quiet drops the error of a client that is gone.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrClientGone) {
		return nil
	}
	return err
}
