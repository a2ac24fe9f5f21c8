package sandbox

// LeaseRequest says for whom a container is wanted, and which one.
type LeaseRequest struct {
	Owner Owner

	// Session is the client's id of its session, any bytes; empty for none.
	// The caller bounds its length.
	Session string

	// Container is the id of a container that the client asked for by name;
	// empty for none.
	Container string

	// History holds ids of containers that earlier turns of the conversation
	// used, newest first. Dead, foreign and made-up ones are passed over.
	History []string

	Limits Limits
}

// Lease is a request's hold on a container. The container neither expires nor
// is evicted while it is held. Its methods may be called at once.
type Lease struct {
	pool     *Pool
	c        *container
	limits   Limits
	released bool // guarded by Pool.mu
}

// Lease decides at once, before any code runs, which container the request
// uses: the one it asked for, else the newest of its history, else its
// session's, else a new one. A new one belongs to the session and outlives the
// lease, or, when there is none or the owner is anonymous, ends with it.
//
// The place of a new container is reserved here; the container itself is
// created by the first Run. Any number of leases may hold one container.
//
// It fails with ErrNotFound, ErrExpired, ErrTooManySessions,
// ErrTooManyContainers or ErrClosed, and then holds nothing. Every lease must
// be released.
func (p *Pool) Lease(r LeaseRequest) (*Lease, error) {
	limits := r.Limits.withDefaults()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return nil, ErrClosed
	}
	c, err := p.choose(r, limits)
	if err != nil {
		return nil, err
	}
	c.ttl = limits.TTL
	p.hold(c)
	return &Lease{pool: p, c: c, limits: limits}, nil
}

// ID returns the container's id, "cntr_" and 48 hexadecimal digits. It stays
// the same for the lease's life, whatever becomes of the container.
func (l *Lease) ID() string {
	return l.c.id
}

// Release ends the hold, for good: after the last one, a kept container's TTL
// starts anew and any other container is deleted in the background. An
// execution that is still under way holds the container until it is over.
// Further calls do nothing.
func (l *Lease) Release() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if !l.released {
		l.released = true
		l.pool.release(l.c)
	}
}

// choose finds or reserves the container of a request. p.mu is held.
func (p *Pool) choose(r LeaseRequest, limits Limits) (*container, error) {
	if r.Container != "" {
		return p.find(r.Owner, r.Container)
	}
	for _, id := range r.History {
		if c, err := p.find(r.Owner, id); err == nil {
			return c, nil
		}
	}
	key, kept := newSessionKey(r.Owner, r.Session)
	if kept {
		if c := p.sessions[key]; c != nil && p.usable(c) {
			return c, nil
		}
	}
	return p.reserve(r.Owner, key, kept, limits)
}

// find returns the owner's kept container of that id. p.mu is held.
func (p *Pool) find(owner Owner, id string) (*container, error) {
	// Nobody finds none: what nobody owns is not kept, and leaves no tombstone.
	if c := p.live[id]; c != nil && c.kept && c.owner == owner && p.usable(c) {
		return c, nil
	}
	if p.ended.of(id, owner) {
		return nil, ErrExpired
	}
	return nil, ErrNotFound
}

// usable reports whether c has not expired, and ends it when it has but was
// not swept yet. p.mu is held.
func (p *Pool) usable(c *container) bool {
	if c.uses > 0 || p.idle.alive(c.id) {
		return true
	}
	p.expire(c)
	return false
}
