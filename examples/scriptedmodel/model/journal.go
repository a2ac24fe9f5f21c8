package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// The journal keeps this many requests, and this many bytes of each body.
const (
	maxRequests   = 200
	maxJournalled = 1 << 20
)

// Request is a request as it arrived. A body that is too long is left out.
type Request struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Header http.Header     `json:"header"`
	Body   json.RawMessage `json:"body,omitempty"`
	Bytes  int             `json:"bytes"`
}

type journal struct {
	mu       sync.Mutex
	requests []Request
}

func (j *journal) add(r *http.Request, body []byte) {
	entry := Request{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Bytes: len(body)}
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "Cookie"} {
		for i, value := range entry.Header[name] {
			entry.Header[name][i] = Fingerprint(value)
		}
	}
	if len(body) <= maxJournalled && json.Valid(body) {
		entry.Body = slices.Clone(body)
	}

	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.requests) == maxRequests {
		j.requests = slices.Delete(j.requests, 0, 1)
	}
	j.requests = append(j.requests, entry)
}

func (j *journal) snapshot() []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.requests)
}

func (j *journal) list(w http.ResponseWriter, r *http.Request) {
	requests := j.snapshot()
	if requests == nil {
		requests = []Request{}
	}
	writeJSON(w, http.StatusOK, object{"requests": requests})
}

func (j *journal) reset(w http.ResponseWriter, r *http.Request) {
	j.mu.Lock()
	j.requests = nil
	j.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// Fingerprint is how the journal shows a credential: tests compare it with
// that of the one they sent.
func Fingerprint(credential string) string {
	sum := sha256.Sum256([]byte(credential))
	return "sha256:" + hex.EncodeToString(sum[:8])
}
