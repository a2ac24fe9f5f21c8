package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/local/internal/jail"
)

// container is a launcher that has become the init of a PID namespace, and
// the Python below it.
//
// It lives until init ends: by kill, with the interpreter, or with Caddy. The
// goroutine watch sees to it that then all is closed and reaped, once.
type container struct {
	cmd     *exec.Cmd
	control *os.File
	channel *net.UnixConn
	boot    *os.File
	frames  *bufio.Reader
	cell    uint32       // of the execution under way or the last one
	open    []*execution // whose pipes may still be open, oldest first; Run's

	born    chan error    // what init said of its start
	acks    chan struct{} // init sent an interrupt
	dead    chan struct{} // closed when nothing is left
	readers sync.WaitGroup
	free    func() // gives the user id back

	status  atomic.Pointer[unix.WaitStatus] // of the interpreter
	doomed  atomic.Bool                     // kill was called
	deleted atomic.Bool
	started bytes.Buffer // what was printed while it started; owned by readBoot until dead
}

func (p *provider) create(ctx context.Context, _ sandbox.Spec, files []seedFile) (*container, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &container{
		born: make(chan error, 1),
		acks: make(chan struct{}, 1),
		dead: make(chan struct{}),
	}
	spec := p.spec
	if err := c.launch(p, &spec, files); err != nil {
		return nil, fmt.Errorf("starting a container: %w", explain(err))
	}
	if err := c.await(ctx, &spec); err != nil {
		c.kill()
		<-c.dead
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if text := lastLine(c.started.String()); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return nil, fmt.Errorf("starting a container: %w", explain(err))
	}
	return c, nil
}

// launch starts the launcher. After an error nothing is left.
func (c *container) launch(p *provider, spec *jail.Spec, files []seedFile) (err error) {
	uid, gid, free, err := p.takeUser()
	if err != nil {
		return err
	}
	c.free = free
	e, err := c.connect()
	defer e.close()
	defer func() {
		if err != nil {
			c.close()
			free()
		}
	}()
	if err != nil {
		return err
	}
	if spec.Binds, err = openBinds(p.layout.binds, e); err != nil {
		return err
	}
	for _, f := range files {
		spec.Files = append(spec.Files, jail.File{Path: f.path, FD: e.pass(f.memo)})
	}
	c.cmd = command(e, uid, gid)
	if err := start(c.cmd); err != nil {
		return err
	}
	c.frames = bufio.NewReader(c.channel)
	c.readers.Add(1)
	go c.readBoot()
	go c.watch()
	return nil
}

// await returns when the runner waits for its first cell.
func (c *container) await(ctx context.Context, spec *jail.Spec) error {
	defer context.AfterFunc(ctx, c.kill)()
	msg, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if len(msg) > jail.MaxMessage {
		return errors.New("the container's settings are too long")
	}
	if _, err := c.control.Write(msg); err != nil {
		return fmt.Errorf("telling the launcher what to do: %w", err)
	}
	select {
	case err := <-c.born:
		if err != nil {
			return err
		}
	case <-c.dead:
		select {
		case err := <-c.born:
			if err != nil {
				return err
			}
		default:
		}
		return errors.New("the launcher ended")
	}
	f, err := readFrame(c.frames)
	if err != nil || f.kind != frameReady {
		return errors.New("the interpreter ended before it was ready")
	}
	return ctx.Err()
}

// readBoot keeps the beginning of what is printed before the first execution.
// It goes on reading, so that nothing inside ever waits for it.
func (c *container) readBoot() {
	defer c.readers.Done()
	defer c.boot.Close()
	_, _ = io.CopyN(&c.started, c.boot, 4096)
	_, _ = io.Copy(io.Discard, c.boot)
}

// watch hears what init says, and clears up when it has ended.
func (c *container) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := c.control.Read(buf)
		if err != nil {
			break
		}
		switch msg := string(buf[:n]); {
		case msg == jail.MsgReady:
			c.born <- nil
		case strings.HasPrefix(msg, jail.MsgFailed):
			c.born <- errors.New(msg[len(jail.MsgFailed):])
		case msg == jail.MsgDone:
			c.acks <- struct{}{}
		case strings.HasPrefix(msg, jail.MsgExit):
			if n, err := strconv.ParseUint(msg[len(jail.MsgExit):], 10, 32); err == nil {
				status := unix.WaitStatus(n)
				c.status.Store(&status)
			}
		}
	}
	c.kill()
	// Wait returns when the kernel has ended the whole PID namespace.
	_ = c.cmd.Wait()
	// What was written before is still read, to the end.
	c.readers.Wait()
	c.close()
	c.free()
	close(c.dead)
}

func (c *container) close() {
	if c.control != nil {
		c.control.Close()
	}
	if c.channel != nil {
		c.channel.Close()
	}
	if c.boot != nil {
		c.boot.Close()
	}
}

// kill ends init, and with it every process of the container.
func (c *container) kill() {
	c.doomed.Store(true)
	_ = c.cmd.Process.Kill() // an error means that it has ended
}

// interrupt has init send SIGINT to the runner and returns when it is sent, so
// that it cannot hit a later execution.
func (c *container) interrupt() {
	if _, err := c.control.Write([]byte(jail.MsgInterrupt)); err != nil {
		return
	}
	select {
	case <-c.acks:
	case <-c.dead:
	case <-time.After(grace):
		c.kill() // init does not answer
	}
}

func (c *container) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return c.doomed.Load() || c.status.Load() != nil
	}
}

// Delete ends the container.
func (c *container) Delete(ctx context.Context) error {
	c.deleted.Store(true)
	c.kill()
	select {
	case <-c.dead:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the container's processes to end: %w", ctx.Err())
	}
}

// Interface guards
var _ sandbox.Container = (*container)(nil)
