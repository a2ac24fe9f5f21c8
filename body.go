package codeinterp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/klauspost/compress/zstd"

	"github.com/codeinterp/caddy-code-interpreter/interceptor"
)

var errBodyTooLarge = errors.New("request body too large")

// requestBody is a client's body, read once.
type requestBody struct {
	raw    *bytes.Buffer // as sent
	plain  []byte        // decoded; raw's bytes when there is no coding
	whole  bool          // false when the body goes on behind raw, over the cap
	words  bool          // it may concern us (interceptor.MayConcern)
	rest   io.Reader
	mu     sync.Mutex
	closed bool // the buffer was given back; nobody may read it any more
}

// buffers are reused: the cost of the gate for a request that does not use the
// tool is the copy, not the allocation.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// largestPooled keeps rare huge bodies from pinning memory for ever.
const largestPooled = 8 << 20

// readBody reads the body up to the cap; release gives its buffer back.
// chained is MayConcern's.
func readBody(r *http.Request, most int64, chained bool) (*requestBody, error) {
	b := &requestBody{raw: buffers.Get().(*bytes.Buffer), whole: true}
	b.raw.Reset()
	if n := r.ContentLength; n > 0 && n <= most {
		b.raw.Grow(int(n) + bytes.MinRead)
	}
	scanner := &interceptor.Scanner{Chained: chained}
	n, err := b.raw.ReadFrom(io.TeeReader(io.LimitReader(r.Body, most+1), scanner))
	if err != nil {
		b.release()
		return nil, err
	}
	if n > most {
		b.whole, b.rest = false, r.Body
	}
	b.plain, b.words = b.raw.Bytes(), scanner.Found
	if coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); coding != "" && coding != "identity" {
		b.decode(coding, most)
		b.words = interceptor.MayConcern(b.plain, chained)
	}
	return b, nil
}

// decode undoes a content coding under the cap. What cannot be decoded is the
// upstream's to refuse: plain stays empty and the bytes go on as they are.
func (b *requestBody) decode(coding string, most int64) {
	var src io.Reader
	switch coding {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(bytes.NewReader(b.plain))
		if err != nil {
			b.plain = nil
			return
		}
		src = z
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(b.plain), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most)))
		if err != nil {
			b.plain = nil
			return
		}
		defer z.Close()
		src = z
	default:
		b.plain = nil
		return
	}
	plain, err := io.ReadAll(io.LimitReader(src, most+1))
	if int64(len(plain)) > most {
		plain, b.whole = plain[:most], false
	} else if err != nil {
		plain = nil
	}
	b.plain = plain
}

// passThrough hands the request to next with its bytes as they came.
func (b *requestBody) passThrough(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	var src io.Reader = &bodyReader{body: b}
	if b.rest != nil {
		src = io.MultiReader(src, b.rest)
	}
	original := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{src, original}
	return next.ServeHTTP(w, r)
}

// detach copies the plain bytes out of the pooled buffer for a longer life.
func (b *requestBody) detach() []byte {
	return bytes.Clone(b.plain)
}

// release gives the buffer back. A transport may still hold the body then: its
// next read gets an error, never another request's bytes.
func (b *requestBody) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	if b.raw.Cap() <= largestPooled {
		buffers.Put(b.raw)
	}
	b.raw, b.plain = nil, nil
}

// bodyReader reads a requestBody's raw bytes until it is released.
type bodyReader struct {
	body *requestBody
	at   int
}

func (r *bodyReader) Read(p []byte) (int, error) {
	r.body.mu.Lock()
	defer r.body.mu.Unlock()
	if r.body.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	raw := r.body.raw.Bytes()
	if r.at >= len(raw) {
		return 0, io.EOF
	}
	n := copy(p, raw[r.at:])
	r.at += n
	return n, nil
}

// refuseBody answers a body that cannot be used, in OpenAI's shape.
func refuseBody(w http.ResponseWriter, err error) error {
	var api *interceptor.APIError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &api):
	case errors.Is(err, errBodyTooLarge):
		api = &interceptor.APIError{
			Status: http.StatusRequestEntityTooLarge, Type: "invalid_request_error", Code: "request_too_large",
			Message: "The request body is larger than this gateway reads for the code_interpreter tool (max_request_body).",
		}
	case errors.As(err, &tooLarge): // the operator's own limit, which is not about us
		return caddyhttp.Error(http.StatusRequestEntityTooLarge, err)
	default:
		return caddyhttp.Error(http.StatusBadRequest, fmt.Errorf("reading the request body: %w", err))
	}
	api.Write(w)
	return nil
}
