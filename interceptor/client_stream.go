package interceptor

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/internal/sse"
)

// clientStream writes events to the client: numbered, flushed one by one, and
// with a comment whenever it has been quiet (decision 19). The lock is for the
// keep-alive's goroutine, which close ends.
type clientStream struct {
	w     http.ResponseWriter
	every time.Duration
	gone  func() // called when a write fails

	mu     sync.Mutex
	next   int64 // sequence_number
	buffer []byte
	err    error
	last   time.Time
	stop   chan struct{}
	done   chan struct{}
}

func newClientStream(w http.ResponseWriter, every time.Duration, gone func()) *clientStream {
	return &clientStream{w: w, every: every, gone: gone}
}

// open sends the headers, those of the first turn, and starts the keep-alive.
func (c *clientStream) open(upstream http.Header) {
	h := c.w.Header()
	copyHeader(h, upstream)
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache")
	}
	c.w.WriteHeader(http.StatusOK)
	c.last = time.Now()
	c.stop, c.done = make(chan struct{}), make(chan struct{})
	go c.keepAlive()
}

func (c *clientStream) close() {
	if c.stop != nil {
		close(c.stop)
		<-c.done
	}
}

func (c *clientStream) keepAlive() {
	defer close(c.done)
	t := time.NewTicker(c.every)
	defer t.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-t.C:
			c.mu.Lock()
			if time.Since(c.last) >= c.every/2 {
				_ = c.write(sse.AppendComment(c.buffer[:0], "keep-alive"))
			}
			c.mu.Unlock()
		}
	}
}

// event sends one event with the next sequence number.
func (c *clientStream) event(typ string, data *rawjson.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	data.Set("sequence_number", rawjson.Int(c.next))
	c.next++
	c.buffer = sse.AppendEvent(c.buffer[:0], typ, data.Bytes())
	return c.write(c.buffer)
}

// write sends and flushes; an error means that the client is gone, and stays.
func (c *clientStream) write(p []byte) error {
	if c.err != nil {
		return c.err
	}
	c.last = time.Now()
	_, err := c.w.Write(p)
	if err == nil {
		err = http.NewResponseController(c.w).Flush()
	}
	if err != nil {
		c.err = fmt.Errorf("%w: writing to the client: %w", ErrClientGone, err)
		c.gone()
	}
	return c.err
}
