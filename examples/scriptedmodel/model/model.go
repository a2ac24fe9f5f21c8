// Package model is a scripted stand-in for a model behind an
// OpenAI-compatible API. It serves POST /v1/responses and
// /v1/chat/completions, streamed and not, and never needs the network.
//
// What it does is decided by the last user message alone:
//
//   - It holds a fenced Python block, and among the request's tools is a
//     function (of any name) with a parameter "code": the answer is a call of
//     that function with the block. Once the call's output has come back, the
//     next block is called, one a turn; after the last one the answer is a
//     message, "The code printed:" and the outputs.
//   - It holds no block: the answer is a message, "You said:" and the text.
//
// Words in brackets in the first lines of the message direct it:
//
//	[reasoning]   a reasoning item stands before the calls of each turn
//	[text]        a message stands before the calls of each turn
//	[parallel]    the first turn calls all the blocks at once
//	[mixed f]     the first turn also calls the client's function f
//	[repair]      the next block is called only if the last output holds
//	              "Error" or "Traceback": the blocks after the first repair it
//	[loop]        the first block is called again on every turn
//
// tool_choice is obeyed: with "none" nothing is called, and with "required" or
// a named function something is called on every turn, block or no block, so
// that a caller who never relaxes it never sees the end. The token limits are
// obeyed too, counting four characters as one token: what is over is cut off,
// even in the middle of a call.
//
// It is a strict upstream. What OpenAI's API refuses it refuses in the same
// words as far as they are known: unknown parameters, tool and item types of
// which it is not the host (code_interpreter among them), a call without its
// output, a reasoning item without the item that it belongs to, arguments that
// do not parse, ids that it never gave out.
//
// GET /_requests shows the last requests as they arrived, for tests; DELETE
// forgets them. The values of credentials are shown as hashes.
package model

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxBody is how long a request may be.
const maxBody = 64 << 20

// Model is the http.Handler that plays the model.
type Model struct {
	delay   time.Duration
	mux     *http.ServeMux
	journal journal
	store   store
}

// New returns a model that waits for delay between the deltas of a stream.
func New(delay time.Duration) *Model {
	m := &Model{delay: delay, mux: http.NewServeMux()}
	m.mux.HandleFunc("GET /v1/models", m.listModels)
	m.mux.HandleFunc("POST /v1/responses", m.createResponse)
	m.mux.HandleFunc("POST /v1/responses/input_tokens", m.countTokens)
	m.mux.HandleFunc("GET /v1/responses/{id}", m.getResponse)
	m.mux.HandleFunc("DELETE /v1/responses/{id}", m.deleteResponse)
	m.mux.HandleFunc("GET /v1/responses/{id}/input_items", m.listInputItems)
	m.mux.HandleFunc("POST /v1/chat/completions", m.createCompletion)
	m.mux.HandleFunc("GET /_requests", m.journal.list)
	m.mux.HandleFunc("DELETE /_requests", m.journal.reset)
	m.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &apiError{Status: http.StatusNotFound,
			Message: "Invalid URL (" + r.Method + " " + r.URL.Path + ")"})
	})
	return m
}

// ServeHTTP answers as an OpenAI-compatible API.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mux.ServeHTTP(w, r)
}

// Requests returns the last requests, oldest first.
func (m *Model) Requests() []Request {
	return m.journal.snapshot()
}

func (m *Model) listModels(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{
		{"id": "scripted", "object": "model", "created": 1767225600, "owned_by": "examples"},
	}})
}

// read takes a request's body and puts the request into the journal.
func (m *Model) read(w http.ResponseWriter, r *http.Request) (fields, *apiError) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, &apiError{Status: http.StatusRequestEntityTooLarge, Message: "The request's body could not be read: " + err.Error()}
	}
	m.journal.add(r, body)
	var request fields
	if err := json.Unmarshal(body, &request); err != nil || request == nil {
		return nil, invalid("", "", "We could not parse the JSON body of your request.")
	}
	return request, nil
}

// object is a JSON object that the model writes.
type object = map[string]any

// fields is a JSON object that a client sent.
type fields map[string]json.RawMessage

// text returns the string under key, or "".
func (f fields) text(key string) string {
	var s string
	_ = json.Unmarshal(f[key], &s)
	return s
}

// has tells whether key is there and not null.
func (f fields) has(key string) bool {
	v, ok := f[key]
	return ok && string(v) != "null"
}

// boolean returns the boolean under key, or the default.
func (f fields) boolean(key string, otherwise bool) bool {
	value := otherwise
	if f.has(key) {
		_ = json.Unmarshal(f[key], &value)
	}
	return value
}

// number returns the whole number under key, or 0.
func (f fields) number(key string) int {
	var n int
	_ = json.Unmarshal(f[key], &n)
	return n
}

// apiError is an error in OpenAI's shape.
type apiError struct {
	Status         int
	Message, Param string
	Code           string
}

// invalid returns a 400. An empty param or code is null on the wire.
func invalid(param, code, message string) *apiError {
	return &apiError{Status: http.StatusBadRequest, Message: message, Param: param, Code: code}
}

func writeError(w http.ResponseWriter, e *apiError) {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	writeJSON(w, e.Status, object{"error": object{
		"message": e.Message, "type": "invalid_request_error", "param": orNull(e.Param), "code": orNull(e.Code),
	}})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body := marshal(value)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("X-Request-Id", newID("req_"))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
