package sandbox

// maxTombstones is how many ended containers are remembered.
const maxTombstones = 4096

// tombstones remember whose the latest ended containers were, so that the
// owner can be told that one is expired rather than unknown. Guarded by
// Pool.mu.
type tombstones struct {
	owners map[string]Owner
	ring   []string // ids in the order in which they ended, from next on
	next   int
}

func newTombstones() *tombstones {
	return &tombstones{owners: make(map[string]Owner)}
}

// add remembers a container and forgets the oldest one when there are too many.
func (t *tombstones) add(id string, owner Owner) {
	if len(t.ring) < maxTombstones {
		t.ring = append(t.ring, id)
	} else {
		delete(t.owners, t.ring[t.next])
		t.ring[t.next] = id
		t.next = (t.next + 1) % maxTombstones
	}
	t.owners[id] = owner
}

// of reports whether the container has ended and was the owner's.
func (t *tombstones) of(id string, owner Owner) bool {
	was, found := t.owners[id]
	return found && was == owner
}
