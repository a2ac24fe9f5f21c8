package integration

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"

	"github.com/codeinterp/caddy-code-interpreter/examples/scriptedmodel/model"
)

// turns is an upstream that plays the scripted model, but for the turns that
// have a handler of their own; turns count from 1.
type turns struct {
	model *model.Model
	on    map[int]http.HandlerFunc

	mu   sync.Mutex
	seen []*http.Request // without bodies
}

func newTurns() *turns {
	return &turns{model: model.New(0), on: map[int]http.HandlerFunc{}}
}

func (u *turns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	seen := r.Clone(r.Context())
	seen.TransferEncoding = append([]string(nil), r.TransferEncoding...)
	u.seen = append(u.seen, seen)
	h := u.on[len(u.seen)]
	u.mu.Unlock()
	if h != nil {
		h(w, r)
		return
	}
	u.model.ServeHTTP(w, r)
}

// requests returns what came in.
func (u *turns) requests() []*http.Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]*http.Request(nil), u.seen...)
}

// play is what the model answers.
func (u *turns) play(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	u.model.ServeHTTP(w, r)
	return w
}

// cutShort sends half of the model's answer and dies.
func (u *turns) cutShort(w http.ResponseWriter, r *http.Request) {
	whole := u.play(r)
	for _, name := range []string{"Content-Type", "Content-Length"} {
		if v := whole.Header().Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// compress answers with gzip, asked for or not.
func (u *turns) compress(w http.ResponseWriter, r *http.Request) {
	whole := u.play(r)
	w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	defer z.Close()
	_, _ = z.Write(whole.Body.Bytes())
}

// reply answers with a fixed answer.
func reply(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.Header().Set("X-Upstream", "told so")
		w.WriteHeader(status)
		if body != "" {
			_, _ = io.WriteString(w, body)
		}
	}
}

// echo sends requests back as it got them.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Seen-Method", r.Method)
	h.Set("Seen-Uri", r.RequestURI)
	h.Set("Seen-Length", strconv.FormatInt(r.ContentLength, 10))
	h.Set("Seen-Transfer", fmt.Sprint(r.TransferEncoding))
	h.Set("Seen-Encoding", r.Header.Get("Content-Encoding"))
	h.Set("Seen-Accept", r.Header.Get("Accept-Encoding"))
	_, _ = w.Write(body)
}
