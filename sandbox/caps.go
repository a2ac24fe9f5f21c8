package sandbox

import "go.uber.org/zap"

// reserve returns a new container, and makes room for it where the limits
// demand: by ending the owner's least recently used idle container, never one
// in use and never another owner's. p.mu is held.
func (p *Pool) reserve(owner Owner, key sessionKey, kept bool, limits Limits) (*container, error) {
	p.sweep()
	full := p.places() >= limits.MaxContainers
	var evicted *container
	var last *deletion
	for kept && p.sessionsOf(owner) >= limits.SessionsPerOwner {
		if evicted = p.leastRecentlyUsed(owner); evicted == nil {
			return nil, ErrTooManySessions
		}
		last = p.evict(evicted)
	}
	if full && evicted == nil {
		if evicted = p.leastRecentlyUsed(owner); evicted == nil {
			return nil, ErrTooManyContainers
		}
		last = p.evict(evicted)
	}

	c := &container{id: p.ids.mint(), owner: owner, key: key, kept: kept}
	if full && last != nil {
		last.heir = c
		c.after = last.gone
	}
	p.live[c.id] = c
	if kept {
		p.sessions[key] = c
	}
	return c, nil
}

func (p *Pool) evict(c *container) *deletion {
	p.log.Debug("container evicted", zap.String("container", c.id))
	return p.retire(c)
}

// places counts the places that are taken: by every container that may be
// used, and by every one that is not gone yet, unless its heir has the place.
func (p *Pool) places() int {
	n := len(p.live)
	for d := range p.leaving {
		if d.heir == nil || d.heir.retired {
			n++
		}
	}
	return n
}

// sessionsOf counts the owner's kept containers.
func (p *Pool) sessionsOf(owner Owner) int {
	n := 0
	for _, c := range p.live {
		if c.kept && c.owner == owner {
			n++
		}
	}
	return n
}

// leastRecentlyUsed returns the owner's kept container that is idle for the
// longest time, or nil.
func (p *Pool) leastRecentlyUsed(owner Owner) *container {
	var oldest *container
	for _, c := range p.live {
		if c.kept && c.uses == 0 && c.owner == owner && (oldest == nil || c.used < oldest.used) {
			oldest = c
		}
	}
	return oldest
}
