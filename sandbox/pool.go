package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Pool has the containers of one provider: it leases them to requests, keeps
// those of sessions, and ends them. All its methods may be called at once.
//
// What holds at any time:
//
//   - A container has one owner for its whole life and is leased to no other.
//   - A container in use neither expires nor is evicted.
//   - One execution at a time runs in a container.
//   - Everything that the provider created is deleted once it is not needed,
//     tried again when that fails, and all of it by the end of Close.
type Pool struct {
	provider   Provider
	log        *zap.Logger
	ids        minter
	executions gate
	deleter    *deleter

	// life ends with Close and ends all executions with it.
	life  context.Context
	end   context.CancelCauseFunc
	tasks sync.WaitGroup // calls of Lease.Run, and the sweeper

	closing  sync.Once
	closeErr error

	mu       sync.Mutex // guards all below, and what the types say
	shut     bool
	live     map[string]*container // by id: every one that may be used
	sessions map[sessionKey]*container
	ended    *tombstones
	idle     *expiryIndex
	leaving  map[*deletion]struct{}
	clock    uint64 // orders uses and numbers generations
}

// NewPool returns a pool that is in use until Close.
func NewPool(provider Provider, log *zap.Logger) *Pool {
	if log == nil {
		log = zap.NewNop()
	}
	p := &Pool{
		provider: provider,
		log:      log,
		ids:      newMinter(),
		deleter:  newDeleter(log),
		live:     make(map[string]*container),
		sessions: make(map[sessionKey]*container),
		ended:    newTombstones(),
		idle:     newExpiryIndex(),
		leaving:  make(map[*deletion]struct{}),
	}
	p.life, p.end = context.WithCancelCause(context.Background())
	p.tasks.Go(p.sweepUntilClosed)
	return p
}

// Minted reports whether id carries this pool's MAC, and so was made here. It
// says nothing of whether the container still exists, or whose it is.
func (p *Pool) Minted(id string) bool {
	return p.ids.minted(id)
}

// Close refuses new leases and executions, ends those under way, and deletes
// every container. It returns when all is gone, or when ctx ends, then with an
// error; what is left is not tried again after that. Further calls wait for
// the first and return the same.
func (p *Pool) Close(ctx context.Context) error {
	p.closing.Do(func() { p.closeErr = p.shutDown(ctx) })
	return p.closeErr
}

func (p *Pool) shutDown(ctx context.Context) error {
	p.mu.Lock()
	p.shut = true
	p.end(ErrClosed) // before the deletions, so that executions know why they end
	for _, c := range p.live {
		p.retire(c)
	}
	p.mu.Unlock()
	close(p.deleter.hurry)

	// Executions may still bring forth containers to be deleted; when there
	// are no more of them, no deletion is added.
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.tasks.Wait()
		p.deleter.pending.Wait()
	}()
	defer close(p.deleter.abandon)
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("deleting containers: %w", context.Cause(ctx))
	}
}

// sweepUntilClosed ends expired containers.
func (p *Pool) sweepUntilClosed() {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.mu.Lock()
			p.sweep()
			p.mu.Unlock()
		case <-p.life.Done():
			return
		}
	}
}

// sweep ends the containers whose idle time is over. p.mu is held.
func (p *Pool) sweep() {
	for _, over := range p.idle.sweep() {
		c := p.live[over.id]
		if c == nil || c.uses > 0 || c.generation != over.generation {
			continue
		}
		// go-cache goes by the wall clock. When that was set forward the
		// container's time is not over yet.
		if left := c.ttl - time.Since(c.idleSince); left > 0 {
			p.idle.rest(c.id, c.generation, left)
			continue
		}
		p.expire(c)
	}
}

// expire ends an idle container whose TTL has passed. p.mu is held.
func (p *Pool) expire(c *container) {
	p.log.Debug("container expired", zap.String("container", c.id), zap.Duration("ttl", c.ttl))
	p.retire(c)
}
