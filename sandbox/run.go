package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

const (
	// createTimeout bounds the creation of a container.
	createTimeout = 30 * time.Second
	// maxCreations is how often one call of Run tries to create one.
	maxCreations = 2
	// maxFailures is how often in a row a container may fail before it is
	// given up. A single failure may have been the way to it.
	maxFailures = 2
	// maxDetail bounds Result.Detail, in bytes.
	maxDetail = 1 << 10
)

// Report is what became of one execution.
type Report struct {
	Result

	// Outputs holds what the code put out, in order, as valid UTF-8. Text
	// that follows on text is one Output. When there was more text than
	// Limits.MaxOutput, the beginning and the end are kept, and "… N bytes
	// omitted …" stands between them.
	Outputs []Output
	// Omitted is how many bytes of text were left out.
	Omitted int64

	// TimedOut says that the execution was ended for Limits.ExecTimeout.
	TimedOut bool
	// Flooded says that it was ended because it put out far too much.
	Flooded bool
	// StateLost says that state which an earlier execution left in this
	// container was lost before this one, which ran in a new one in its
	// place. It is said once.
	StateLost bool

	// Started and Duration say when the code ran and how long, without the
	// wait for its turn and for the container.
	Started  time.Time
	Duration time.Duration
}

// Run executes code in the leased container and waits for its end. The
// container is created first if need be. Executions in one container take
// turns, and so do those of the whole pool, within Limits.ExecTimeout.
//
// Whatever the code did wrong is a Report. An error is one of
//
//   - ErrBusy: no turn in time. The code was not started.
//   - ErrUnavailable, with the cause: no container could be created, or the
//     provider failed; then the code may have run, and is not run again.
//   - ErrClosed, ErrReleased: the pool or the lease is over.
//   - ctx's error: the caller went away. The code was interrupted first.
//
// With an error, the Report holds what is known of an execution that was
// started, and is zero otherwise.
func (l *Lease) Run(ctx context.Context, code string) (Report, error) {
	p, c := l.pool, l.c
	if err := l.begin(); err != nil {
		return Report{}, err
	}
	defer l.finish()

	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.life, func() { cancel(ErrClosed) })()

	turn, stop := context.WithTimeoutCause(run, l.limits.ExecTimeout, ErrBusy)
	defer stop()
	if err := c.turn.enter(turn, 1); err != nil {
		return Report{}, goneAway(ctx, err)
	}
	defer c.turn.leave()
	if err := p.executions.enter(turn, l.limits.MaxConcurrentExecutions); err != nil {
		return Report{}, goneAway(ctx, err)
	}
	defer p.executions.leave()

	creations := 0
	for again := false; run.Err() == nil; again = true {
		b, err := p.boxOf(run, c, &creations)
		if err != nil {
			return Report{}, goneAway(ctx, err)
		}
		report, err := l.execute(run, b, code)
		if !errors.Is(err, ErrGone) {
			return report, goneAway(ctx, err)
		}
		p.lose(c, b)
		if again {
			return Report{}, goneAway(ctx, fmt.Errorf("running code: %w: %w", ErrUnavailable, err))
		}
	}
	return Report{}, goneAway(ctx, context.Cause(run))
}

// begin counts an execution as a use of the container, and finish ends it.
func (l *Lease) begin() error {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	switch {
	case l.pool.shut:
		return ErrClosed
	case l.released:
		return ErrReleased
	}
	l.pool.tasks.Add(1)
	l.pool.hold(l.c)
	return nil
}

func (l *Lease) finish() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.pool.release(l.c)
	l.pool.tasks.Done()
}

// goneAway returns the caller's own error in place of one that came of it.
func goneAway(caller context.Context, err error) error {
	if err != nil && caller.Err() != nil {
		return caller.Err()
	}
	return err
}

// boxOf returns the container's box and creates it if need be. It counts the
// creations. The caller holds c.turn, so that there is one creation at a time;
// when that caller goes away in the midst of it, the provider leaves nothing
// behind and the next in the queue creates again.
func (p *Pool) boxOf(ctx context.Context, c *container, creations *int) (*box, error) {
	p.mu.Lock()
	b, retired := c.box, c.retired
	c.tried = true
	p.mu.Unlock()
	switch {
	case retired:
		return nil, ErrClosed
	case b != nil:
		return b, nil
	}
	for {
		*creations++
		b, err := p.create(ctx, c)
		switch {
		case ctx.Err() != nil: // also when there is a box now, for the next one
			return nil, context.Cause(ctx)
		case err == nil:
			return b, nil
		case errors.Is(err, ErrClosed):
			return nil, err
		case errors.Is(err, context.DeadlineExceeded) || *creations >= maxCreations:
			return nil, fmt.Errorf("creating container: %w: %w", ErrUnavailable, err)
		}
	}
}

func (p *Pool) create(ctx context.Context, c *container) (*box, error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	if c.after != nil {
		select {
		case <-c.after:
			c.after = nil
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the container before it to go: %w", ctx.Err())
		}
	}
	made, err := p.provider.Create(ctx, Spec{ID: c.id})
	if err != nil {
		return nil, err
	}
	if made == nil {
		return nil, errors.New("provider made no container")
	}
	return p.install(c, made)
}

// execute runs code in b, once. It returns ErrGone only when the code was not
// started.
func (l *Lease) execute(run context.Context, b *box, code string) (Report, error) {
	flood, cancel := context.WithCancelCause(run)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(flood, l.limits.ExecTimeout, errExecTimeout)
	defer stop()
	out := newCollector(l.limits, func() { cancel(errFlood) })
	returned := false
	defer func() {
		if !returned { // a panic of the provider's
			l.pool.lose(l.c, b)
		}
	}()

	report := Report{Started: time.Now()}
	result, err := b.Run(ctx, code, out.emit)
	returned = true
	report.Duration = time.Since(report.Started)
	cause := context.Cause(ctx)
	report.Result = result
	report.Detail = clip(result.Detail, maxDetail)
	report.Outputs, report.Omitted = out.finish()
	if errors.Is(err, ErrGone) {
		if len(report.Outputs) == 0 {
			return Report{}, err
		}
		err = errors.New("container went away while the code ran")
	}

	interrupted := err == nil && result.Outcome == Interrupted
	report.TimedOut = interrupted && cause == errExecTimeout
	report.Flooded = interrupted && cause == errFlood
	report.StateLost = l.pool.settle(l.c, b, result.Lost, err)
	l.pool.log.Debug("code executed", zap.String("container", l.c.id),
		zap.Int("code_bytes", len(code)), zap.Int("outputs", len(report.Outputs)), zap.Int64("omitted_bytes", report.Omitted),
		zap.Duration("duration", report.Duration), zap.Int("outcome", int(result.Outcome)),
		zap.Bool("timed_out", report.TimedOut), zap.Bool("flooded", report.Flooded),
		zap.Bool("lost", result.Lost), zap.Bool("failed", err != nil))
	// Close may have deleted the container before word of it came to run.
	over := cmp.Or(context.Cause(run), context.Cause(l.pool.life))
	switch {
	case over != nil && (interrupted || err != nil):
		return report, over
	case err != nil:
		return report, fmt.Errorf("running code: %w: %w", ErrUnavailable, err)
	}
	return report, nil
}

// settle notes down how an execution that was started left the box, and
// reports whether state had been lost before it. The caller holds c.turn.
func (p *Pool) settle(c *container, b *box, lost bool, err error) (stateLost bool) {
	p.mu.Lock()
	stateLost, c.lost = c.lost, false
	b.ran = true
	if err == nil {
		b.failures = 0
	} else {
		b.failures++
	}
	broken := lost || b.failures >= maxFailures
	p.mu.Unlock()
	if broken {
		p.lose(c, b)
	}
	return stateLost
}
