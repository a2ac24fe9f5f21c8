package sandbox

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// deleteTimeout bounds one try.
	deleteTimeout = 10 * time.Second
	// deleteTries bounds the tries: with the delays between them they take
	// about two minutes.
	deleteTries = 8
	// deleteParallel bounds the calls to the provider at a time.
	deleteParallel = 32

	firstDeleteDelay   = time.Second
	longestDeleteDelay = 32 * time.Second
	// closingDeleteDelay is the longest delay once the pool is being closed.
	closingDeleteDelay = time.Second
)

// deleter deletes containers in the background and tries again what failed.
type deleter struct {
	log     *zap.Logger
	pending sync.WaitGroup
	slots   chan struct{}
	hurry   chan struct{} // closed when the pool is being closed
	abandon chan struct{} // closed when the time for that is over
}

func newDeleter(log *zap.Logger) *deleter {
	return &deleter{
		log:     log,
		slots:   make(chan struct{}, deleteParallel),
		hurry:   make(chan struct{}),
		abandon: make(chan struct{}),
	}
}

// deletion is one container on its way out.
type deletion struct {
	// tried is closed after the first try.
	tried chan struct{}
	// gone is closed when the container is gone or was given up.
	gone chan struct{}
	// heir is the container that has its place, and is created when it is
	// gone. Guarded by Pool.mu.
	heir *container
}

// delete deletes a container in the background and calls after when it is
// gone or was given up.
func (d *deleter) delete(id string, container Container, after func(*deletion)) *deletion {
	del := &deletion{tried: make(chan struct{}), gone: make(chan struct{})}
	d.pending.Go(func() {
		defer close(del.gone)
		defer after(del)
		d.persist(id, container, del)
	})
	return del
}

// persist tries until it succeeds, has tried often enough, or must stop.
func (d *deleter) persist(id string, container Container, del *deletion) {
	delay := firstDeleteDelay
	for try := 1; ; try++ {
		err := d.try(container)
		if try == 1 {
			close(del.tried)
		}
		if err == nil {
			d.log.Debug("container deleted", zap.String("container", id), zap.Int("tries", try))
			return
		}
		if try == deleteTries || !d.wait(delay) {
			d.log.Error("container could not be deleted and may be left behind",
				zap.String("container", id), zap.Int("tries", try), zap.Error(err))
			return
		}
		delay = min(2*delay, longestDeleteDelay)
	}
}

// try asks the provider once. The request that used the container may be over
// long since, so the time limit is all that bounds it. Nor is there a server
// above this goroutine that recovers: a panic of the provider's would end the
// whole process, and so counts as a failure.
func (d *deleter) try(container Container) (err error) {
	d.slots <- struct{}{}
	defer func() { <-d.slots }()
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("provider panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return container.Delete(ctx)
}

// wait waits before the next try. It returns false when there is none.
func (d *deleter) wait(delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.hurry:
	}
	timer.Reset(min(delay, closingDeleteDelay))
	select {
	case <-timer.C:
		return true
	case <-d.abandon:
		return false
	}
}
