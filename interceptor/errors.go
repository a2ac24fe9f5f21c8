package interceptor

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// Errors of one upstream turn, returned by Upstream.Turn.
var (
	// ErrAborted means that the upstream died while it sent its answer.
	ErrAborted = errors.New("the upstream broke off its answer")
	// ErrNoAnswer means that no handler behind this one answered.
	ErrNoAnswer = errors.New("no upstream handled the request")
	// ErrClientGone means that the client went away.
	ErrClientGone = errors.New("the client went away")
	// ErrTooLarge means that a turn or an event passed its limit.
	ErrTooLarge = errors.New("the upstream's answer is larger than the limit")
)

// APIError is an error as OpenAI's API shows it (wire/openai.md 5.4).
type APIError struct {
	Status  int
	Type    string
	Code    string
	Param   string
	Message string
	// Headers go with the answer, for example Retry-After.
	RetryAfter time.Duration
	// NoRetry tells the SDKs not to send the request again: code has run.
	NoRetry bool
}

func (e *APIError) Error() string { return e.Message }

// badRequest is a 400 that names the parameter.
func badRequest(param, format string, args ...any) *APIError {
	return &APIError{
		Status: http.StatusBadRequest, Type: "invalid_request_error",
		Code: "invalid_value", Param: param, Message: fmt.Sprintf(format, args...),
	}
}

// errorObject is the value of the "error" member.
type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *APIError) object() errorObject {
	o := errorObject{Message: e.Message, Type: e.Type}
	if e.Param != "" {
		o.Param = &e.Param
	}
	if e.Code != "" {
		o.Code = &e.Code
	}
	return o
}

// event is the error as a stream sends it.
func (e *APIError) event() *rawjson.Object {
	body, _ := json.Marshal(e.object())
	o := rawjson.New()
	o.Set("type", rawjson.String("error"))
	o.Set("error", body)
	return o
}

// Write answers the request with the error.
func (e *APIError) Write(w http.ResponseWriter) {
	body, _ := json.Marshal(map[string]errorObject{"error": e.object()})
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
	}
	if e.NoRetry {
		h.Set("X-Should-Retry", "false")
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(body)
}

// leaseError maps what the pool says before the first turn.
func leaseError(err error, id string) *APIError {
	switch {
	case errors.Is(err, sandbox.ErrExpired):
		e := badRequest("", "Container is expired.")
		e.Code = ""
		return e
	case errors.Is(err, sandbox.ErrNotFound):
		return &APIError{
			Status: http.StatusNotFound, Type: "invalid_request_error",
			Message: fmt.Sprintf("Container with id '%s' not found.", id),
		}
	case errors.Is(err, sandbox.ErrTooManySessions):
		return tooMany("All of your code interpreter sessions are in use. Wait for one to end, or reuse a session.")
	case errors.Is(err, sandbox.ErrTooManyContainers):
		return tooMany("All code interpreter containers are in use. Try again later.")
	default:
		return &APIError{
			Status: http.StatusServiceUnavailable, Type: "server_error", Code: "code_interpreter_unavailable",
			Message: "The code interpreter is not available.", RetryAfter: 5 * time.Second,
		}
	}
}

func tooMany(message string) *APIError {
	return &APIError{
		Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "rate_limit_exceeded",
		Message: message, RetryAfter: 5 * time.Second,
	}
}

// turnError maps an error of Upstream.Turn.
func turnError(err error) *APIError {
	var api *APIError
	switch {
	case errors.As(err, &api):
		return api
	case errors.Is(err, ErrTooLarge):
		return &APIError{
			Status: http.StatusBadGateway, Type: "server_error", Code: "upstream_too_large",
			Message: "The upstream's answer is larger than this gateway allows (max_response, max_event).",
		}
	case errors.Is(err, ErrNoAnswer):
		return &APIError{
			Status: http.StatusBadGateway, Type: "server_error", Code: "upstream_missing",
			Message: "No upstream handled the request. Is there a reverse_proxy behind code_interpreter for this route?",
		}
	default:
		return &APIError{
			Status: http.StatusBadGateway, Type: "server_error", Code: "upstream_failed",
			Message: "The upstream broke off or could not be reached.",
		}
	}
}

// publicName replaces the model-facing function's name in a text of the
// upstream's, which was never meant to name it to a client (decision 6).
func publicName(text, toolName string) string {
	return strings.ReplaceAll(text, toolName, "code_interpreter")
}
