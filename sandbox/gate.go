package sandbox

import (
	"container/list"
	"context"
	"sync"
)

// gate lets in a limited number of holders at a time. The limit comes with
// each call, because it comes with each request: one is let in when fewer are
// inside than its own limit says. Whoever has room is served in order of
// arrival, so among equal limits nobody is passed; one with a smaller limit is
// passed only while it has no room itself, and so never holds up a handler
// that may do more. The zero value is ready for use.
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
		g.admit()
	default:
		g.queue.Remove(place)
	}
	return context.Cause(ctx)
}

// leave gives a place back.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held--
	g.admit()
}

// admit lets in all who have room, the longest waiting first. g.mu is held.
func (g *gate) admit() {
	for place := g.queue.Front(); place != nil; {
		next := place.Next()
		if w := place.Value.(*waiter); g.held < w.limit {
			g.held++
			g.queue.Remove(place)
			close(w.ready)
		}
		place = next
	}
}
