package local

import (
	"bufio"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// chunk is the most text that is handed on at a time.
const chunk = 32 << 10

// execution is one cell as the host sees it: text from a pipe that is this
// cell's alone, so that what background processes of earlier cells print is
// never taken for its output (cases/sandbox.md 13, 45), and frames from the
// container's channel.
//
// Whoever reads does so under mu and hands on before letting go of it, so
// that what is handed on is in the order of what was read. The runner writes
// out all text before it sends a frame, and goes on only when the frame was
// handed on; text that is in the pipe when a frame arrives came before it.
type execution struct {
	cell   uint32
	pipe   *os.File
	raw    syscall.RawConn
	mu     sync.Mutex
	events chan event
	over   chan struct{} // closed when nobody takes events any more
	pumped chan struct{} // closed when the pipe is at its end
	lost   chan struct{} // closed when frames end without the last one
}

// event is an output or the end.
type event struct {
	output sandbox.Output
	done   bool
	result sandbox.Result
}

func newExecution(cell uint32, pipe *os.File) (*execution, error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &execution{
		cell:   cell,
		pipe:   pipe,
		raw:    raw,
		events: make(chan event),
		over:   make(chan struct{}),
		pumped: make(chan struct{}),
		lost:   make(chan struct{}),
	}, nil
}

// pump reads the pipe until no process has its other end open. It goes on
// after the execution, for background processes shall neither wait nor get
// SIGPIPE because nobody reads what they print.
func (e *execution) pump() {
	defer close(e.pumped)
	defer e.pipe.Close()
	buf := make([]byte, chunk)
	for open := true; open; {
		err := e.raw.Read(func(fd uintptr) bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			n, err := readAgain(int(fd), buf)
			if err == unix.EAGAIN {
				return false // wait until it is readable
			}
			if err != nil || n == 0 {
				open = false
				return true
			}
			e.push(event{output: text(buf[:n])})
			return true
		})
		if err != nil {
			return
		}
	}
}

// ended reports whether the pipe is at its end.
func (e *execution) ended() bool {
	select {
	case <-e.pumped:
		return true
	default:
		return false
	}
}

// abandon ends pump; whoever still writes to the pipe finds it broken.
func (e *execution) abandon() { _ = e.pipe.SetReadDeadline(time.Unix(1, 0)) }

// drain reads what is in the pipe now, and no more: a process that prints all
// the time must not hold up the frame that waits.
func (e *execution) drain() {
	_ = e.raw.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		buf := make([]byte, min(left, chunk))
		for err == nil && left > 0 {
			var n int
			n, err = readAgain(int(fd), buf[:min(left, len(buf))])
			if n <= 0 {
				return
			}
			left -= n
			e.push(event{output: text(buf[:n])})
		}
	})
}

// readFrames reads the channel until the frame that ends this execution.
func (e *execution) readFrames(r *bufio.Reader, confirm io.Writer) {
	for {
		f, err := readFrame(r)
		if err != nil {
			close(e.lost)
			return
		}
		if f.cell != e.cell {
			continue // sent late by something that an earlier cell left behind
		}
		e.mu.Lock()
		e.drain()
		if out, ok := f.output(); ok {
			e.push(event{output: out})
			_, _ = confirm.Write([]byte{'.'}) // else reading will fail
		}
		if f.kind == frameDone {
			e.push(event{done: true, result: f.result()})
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
	}
}

// push hands an event on, unless nobody wants it any more.
func (e *execution) push(ev event) {
	select {
	case e.events <- ev:
	case <-e.over:
	}
}

func readAgain(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return n, err
		}
	}
}

func text(b []byte) sandbox.Output {
	return sandbox.Output{Kind: sandbox.Text, Text: string(b)}
}
