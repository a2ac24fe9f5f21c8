package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// grace is how long code may take to end after an interrupt.
const grace = 2 * time.Second

var errDeleted = errors.New("the container was deleted while code ran in it")

// Run executes code as the next cell.
func (c *container) Run(ctx context.Context, code string, emit func(sandbox.Output)) (sandbox.Result, error) {
	if c.isDead() {
		return sandbox.Result{}, sandbox.ErrGone
	}
	if ctx.Err() != nil {
		return sandbox.Result{Outcome: sandbox.Interrupted}, nil
	}
	e, err := c.begin(ctx, code)
	if err != nil {
		c.kill()
		if ctx.Err() != nil {
			return sandbox.Result{Outcome: sandbox.Interrupted, Lost: true}, nil
		}
		return sandbox.Result{}, fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	// The pipe is read on after this, but for nobody.
	defer close(e.over)
	return c.follow(ctx, e, emit)
}

// begin sends the code to the runner.
func (c *container) begin(ctx context.Context, code string) (*execution, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c.cell++
	e, err := newExecution(c.cell, out)
	if err != nil {
		out.Close()
		return nil, err
	}
	// A runner that does not read (the code broke it) must not hold us up.
	stop := context.AfterFunc(ctx, func() { _ = c.channel.SetWriteDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			_ = c.channel.SetWriteDeadline(time.Time{})
		}
	}()
	rights := unix.UnixRights(int(in.Fd()))
	if _, _, err = c.channel.WriteMsgUnix(cellHeader(c.cell, code), rights, nil); err == nil {
		_, err = c.channel.Write([]byte(code))
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	c.boundPipes(e)
	c.readers.Add(2)
	go func() { defer c.readers.Done(); e.pump() }()
	go func() { defer c.readers.Done(); e.readFrames(c.frames, c.channel) }()
	return e, nil
}

// maxPipes is how many cells' pipes a container may keep open. Each costs the
// host a descriptor and a goroutine for as long as code holds the other end.
const maxPipes = 16

// boundPipes takes the new cell's pipe in and gives the oldest up.
func (c *container) boundPipes(e *execution) {
	c.open = append(slices.DeleteFunc(c.open, (*execution).ended), e)
	for ; len(c.open) > maxPipes; c.open = c.open[1:] {
		c.open[0].abandon()
	}
}

// follow hands on what the execution puts out until it ends, one way or other.
func (c *container) follow(ctx context.Context, e *execution, emit func(sandbox.Output)) (sandbox.Result, error) {
	ended := ctx.Done()
	var againAt, killAt <-chan time.Time
	interrupted, killed := false, false
	for {
		select {
		case ev := <-e.events:
			if !ev.done {
				emit(ev.output)
				continue
			}
			if interrupted {
				return sandbox.Result{Outcome: sandbox.Interrupted, Lost: !c.settle()}, nil
			}
			return ev.result, nil
		case <-ended:
			ended = nil
			interrupted = true
			againAt, killAt = time.After(grace/2), time.After(grace)
			c.interrupt()
		case <-againAt:
			c.interrupt() // the first one may have ended a command only
		case <-killAt:
			killed = true
			c.kill()
		case <-e.lost:
			c.finish(e, emit)
			return c.autopsy(interrupted, killed)
		}
	}
}

// settle makes sure that an interrupt that came too late does not hit the next
// execution: the runner gets to answer after it got to the signal.
func (c *container) settle() bool {
	_ = c.channel.SetDeadline(time.Now().Add(grace))
	defer c.channel.SetDeadline(time.Time{})
	if _, err := c.channel.Write(cellHeader(0, "")); err == nil {
		for {
			f, err := readFrame(c.frames)
			if err != nil {
				break
			}
			if f.kind == frameReady {
				return true
			}
		}
	}
	c.kill()
	return false
}

// finish hands on what is left of the output when the runner has closed its
// channel. As a rule it has ended, and init is about to say how.
func (c *container) finish(e *execution, emit func(sandbox.Output)) {
	timer := time.AfterFunc(time.Second, c.kill)
	defer timer.Stop()
	for {
		select {
		case ev := <-e.events:
			if !ev.done {
				emit(ev.output)
			}
		case <-e.pumped:
			<-c.dead
			return
		}
	}
}

// autopsy says how the interpreter ended.
func (c *container) autopsy(interrupted, killed bool) (sandbox.Result, error) {
	if killed || interrupted {
		return sandbox.Result{Outcome: sandbox.Interrupted, Lost: true}, nil
	}
	if c.deleted.Load() {
		return sandbox.Result{}, errDeleted
	}
	result := sandbox.Result{Outcome: sandbox.Died, Detail: "interpreter died", Lost: true}
	if status := c.status.Load(); status != nil {
		switch {
		case status.Signaled():
			result.Detail += fmt.Sprintf(" (%s)", unix.SignalName(status.Signal()))
		case status.Exited():
			result.Detail += fmt.Sprintf(" (exit status %d)", status.ExitStatus())
		}
	}
	return result, nil
}
