package sandbox

import (
	"time"

	gocache "github.com/patrickmn/go-cache"
)

// sweepInterval is how often containers are looked through for expired ones.
const sweepInterval = 5 * time.Second

// expiryIndex tells which idle containers have outlived their TTL. It holds
// ids and generations in a go-cache, never the containers, and is guarded by
// Pool.mu.
//
// Each time a container is leased or comes to rest it gets a new generation,
// so that word of an older idle time is ignored. Of go-cache's own ways these
// matter here:
//
//   - OnEvicted is not called when an entry is overwritten. That is wanted: a
//     new idle time takes the place of the one before.
//   - OnEvicted cannot tell expiry from deletion and is called on the
//     goroutine of either, so it only notes down what it was told.
//   - An expired entry that was not swept yet is missing for Get, and a Set
//     would lose it without a callback. So the pool asks alive before it
//     leases an idle container, and ends it there and then when it is not.
//   - Its janitor blocks the process's finalizers when the cache is dropped
//     while it sweeps. It is not used; the pool's ticker sweeps.
//   - A duration of zero or less means never. Limits never have such a TTL.
type expiryIndex struct {
	cache *gocache.Cache
	noted []idleTime
}

// idleTime is one stay of a container in the index.
type idleTime struct {
	id         string
	generation uint64
}

func newExpiryIndex() *expiryIndex {
	x := &expiryIndex{cache: gocache.New(gocache.NoExpiration, 0)}
	x.cache.OnEvicted(func(id string, generation any) {
		x.noted = append(x.noted, idleTime{id, generation.(uint64)})
	})
	return x
}

// rest starts the idle time of a container, in place of an earlier one.
func (x *expiryIndex) rest(id string, generation uint64, ttl time.Duration) {
	x.cache.Set(id, generation, ttl)
}

// forget removes a container that has ended.
func (x *expiryIndex) forget(id string) {
	x.cache.Delete(id)
	x.noted = x.noted[:0]
}

// alive reports whether the idle time of an idle container is not over yet.
func (x *expiryIndex) alive(id string) bool {
	_, found := x.cache.Get(id)
	return found
}

// sweep removes and returns the idle times that are over, also of containers
// that are in use by now.
func (x *expiryIndex) sweep() []idleTime {
	x.cache.DeleteExpired()
	expired := x.noted
	x.noted = nil
	return expired
}
