package interceptor

import (
	"net/http"
	"strconv"
	"strings"
)

// jsonView answers once, when the exchange is over.
type jsonView struct {
	ex   *exchange
	w    http.ResponseWriter
	sent bool
}

func (v *jsonView) live() live  { return nil }
func (v *jsonView) begun() bool { return v.sent }
func (v *jsonView) close()      {}

func (v *jsonView) pass(it *item) error {
	if it.done != nil {
		v.ex.output = append(v.ex.output, v.ex.show(it, it.done.Clone()))
	}
	return nil
}

func (v *jsonView) running(it *item) error {
	v.ex.showCall(it) // fixes the id under which the call is remembered
	return nil
}

func (v *jsonView) called(it *item) error {
	v.ex.output = append(v.ex.output, v.ex.showCall(it))
	return nil
}

func (v *jsonView) refused(t *turn) error {
	v.sent = true
	writeRefusal(v.w, t, v.ex.req.toolName)
	return nil
}

// finish writes the response with the headers of the last turn. A failure
// after code has run is a response, not an HTTP error, since the client must
// not run the code again by a blind retry (decision 17).
func (v *jsonView) finish(t *turn, status string, failure *APIError) error {
	v.sent = true
	if failure != nil && v.ex.first == nil {
		failure.Write(v.w)
		return nil
	}
	body := v.ex.final(t, status, failure)
	v.ex.record() // before the client can ask for it
	copyHeader(v.w.Header(), t.header)
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if failure != nil && failure.NoRetry {
		h.Set("X-Should-Retry", "false")
	}
	v.w.WriteHeader(http.StatusOK)
	_, _ = v.w.Write(body)
	return nil
}

// writeRefusal passes an upstream's own answer on, but for the internal name.
func writeRefusal(w http.ResponseWriter, t *turn, toolName string) {
	body := t.raw
	if toolName != "" {
		body = []byte(publicName(string(body), toolName))
	}
	copyHeader(w.Header(), t.header)
	for name, values := range t.header {
		if strings.EqualFold(name, "Content-Type") {
			w.Header()[name] = values
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if t.httpStatus == 0 {
		t.httpStatus = http.StatusBadGateway
	}
	w.WriteHeader(t.httpStatus)
	_, _ = w.Write(body)
}

// perBody are the headers that belong to the upstream's body, not to ours.
var perBody = map[string]bool{
	"Content-Length": true, "Content-Encoding": true, "Transfer-Encoding": true, "Content-Type": true,
	"Etag": true, "Digest": true, "Content-Digest": true, "Repr-Digest": true, "Content-Md5": true, "Trailer": true,
	"Content-Range": true, "Accept-Ranges": true, "Last-Modified": true, "Connection": true, "Keep-Alive": true,
}

func copyHeader(dst, src http.Header) {
	for name, values := range src {
		if !perBody[http.CanonicalHeaderKey(name)] {
			dst[name] = append([]string(nil), values...)
		}
	}
}
