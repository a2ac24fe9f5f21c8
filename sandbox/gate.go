package sandbox

import (
	"container/list"
	"context"
	"sync"
)

// gate lets in a limited number of holders at a time, first come, first
// served. The limit comes with each call, because it comes with each request:
// the first in the queue is let in once fewer are inside than its own limit
// says, and nobody passes it. The zero value is ready for use.
type gate struct {
	mu    sync.Mutex
	held  int
	queue list.List // of *waiter
}

type waiter struct {
	limit int
	ready chan struct{}
}

// enter waits for a place. When ctx ends first it returns ctx's cause and
// holds nothing. Every successful enter needs one leave.
func (g *gate) enter(ctx context.Context, limit int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := &waiter{limit: limit, ready: make(chan struct{})}
	g.mu.Lock()
	place := g.queue.PushBack(w)
	g.admit()
	g.mu.Unlock()

	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.ready: // let in meanwhile: give the place back
		g.held--
	default:
		g.queue.Remove(place)
	}
	g.admit() // also when w only held up others at the head of the queue
	return context.Cause(ctx)
}

// leave gives a place back.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held--
	g.admit()
}

// admit lets in whoever is next, as long as there is room. g.mu is held.
func (g *gate) admit() {
	for first := g.queue.Front(); first != nil; first = g.queue.Front() {
		w := first.Value.(*waiter)
		if g.held >= w.limit {
			return
		}
		g.held++
		g.queue.Remove(first)
		close(w.ready)
	}
}
