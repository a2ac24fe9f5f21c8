package sandbox

import (
	"time"

	"go.uber.org/zap"
)

// container is a place in the pool with an id and an owner. What the provider
// made for it is its box, which comes with the first execution and may be
// replaced by another one when it is lost.
type container struct {
	id    string
	owner Owner
	key   sessionKey
	kept  bool // belongs to a session, and lives on between leases

	// turn is held by whoever runs code in it.
	turn gate
	// after, when set, is waited for before a box is created: an evicted
	// container whose place this one has, or the box that was lost. Belongs
	// to the holder of turn.
	after <-chan struct{}

	// Guarded by Pool.mu.
	uses       int  // leases, and executions
	retired    bool // not in Pool.live any more, for ever
	box        *box
	tried      bool // a box was asked for, so that the id may be known
	existed    bool // there was a box at some time
	lost       bool // state was lost and no execution has reported it yet
	used       uint64
	generation uint64
	ttl        time.Duration
	idleSince  time.Time
}

// box is what the provider made.
type box struct {
	Container
	ran      bool // code has run in it; guarded by Pool.mu
	failures int  // in a row; guarded by Pool.mu
}

// hold counts one more use. p.mu is held.
func (p *Pool) hold(c *container) {
	p.clock++
	c.used = p.clock
	c.generation = p.clock
	c.uses++
}

// release ends one use. After the last one, a container that is kept starts
// its idle time and any other one ends. p.mu is held.
func (p *Pool) release(c *container) {
	p.clock++
	c.used = p.clock
	c.uses--
	switch {
	case c.uses > 0 || c.retired:
	case c.kept && c.existed:
		c.generation = p.clock
		c.idleSince = time.Now()
		p.idle.rest(c.id, c.generation, c.ttl)
	default:
		p.retire(c)
	}
}

// retire takes c out of the pool for ever and deletes its box. It returns the
// deletion, or nil when there is nothing to delete. p.mu is held.
func (p *Pool) retire(c *container) *deletion {
	c.retired = true
	delete(p.live, c.id)
	if p.sessions[c.key] == c {
		delete(p.sessions, c.key)
	}
	p.idle.forget(c.id)
	if c.tried && !c.owner.Anonymous() {
		p.ended.add(c.id, c.owner)
	}
	if c.box == nil {
		return nil
	}
	return p.discard(c)
}

// discard deletes the container's box in the background. p.mu is held.
func (p *Pool) discard(c *container) *deletion {
	b := c.box
	c.box = nil
	c.lost = c.lost || b.ran
	d := p.deleter.delete(c.id, b.Container, func(d *deletion) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.leaving, d)
	})
	p.leaving[d] = struct{}{}
	return d
}

// install gives c the box that was created for it, or deletes that box when c
// was retired meanwhile. The caller holds c.turn.
func (p *Pool) install(c *container, made Container) (*box, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &box{Container: made}
	c.box = b
	c.existed = true
	if c.retired {
		p.discard(c)
		return nil, ErrClosed
	}
	p.log.Debug("container created", zap.String("container", c.id))
	return b, nil
}

// lose deletes a box that cannot be used any more, so that the next execution
// gets a new one in its place. The caller holds c.turn.
func (p *Pool) lose(c *container, b *box) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.box != b { // Close was faster
		return
	}
	p.log.Debug("container lost", zap.String("container", c.id))
	c.after = p.discard(c).tried
}
