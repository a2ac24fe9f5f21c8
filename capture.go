package codeinterp

import (
	"net/http"

	"github.com/codeinterp/caddy-code-interpreter/interceptor"
)

// capture is the ResponseWriter of one turn. Its headers are the turn's own
// and its bytes go to the Answer as they are written. It has no Unwrap: no
// flush, deadline or hijack may reach the client while a turn is private.
type capture struct {
	answer  interceptor.Answer
	header  http.Header
	status  int
	started bool
	err     error // the answer's first error; sticky
}

// Header returns the turn's private headers.
func (c *capture) Header() http.Header { return c.header }

// WriteHeader takes the final status; 1xx are not it, and are dropped.
func (c *capture) WriteHeader(status int) {
	if status >= 200 && c.status == 0 {
		c.status = status
	}
}

// Write hands the bytes to the answer.
func (c *capture) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	if err := c.start(); err != nil {
		return 0, err
	}
	n, err := c.answer.Write(p)
	if err != nil {
		c.err = err
	}
	return n, err
}

// FlushError satisfies http.ResponseController; what is written is never held
// here, so there is nothing to flush.
func (c *capture) FlushError() error { return nil }

// start tells the answer the status and headers, once.
func (c *capture) start() error {
	if c.started || c.err != nil {
		return c.err
	}
	c.started = true
	c.err = c.answer.Start(c.status, c.header.Clone())
	return c.err
}
