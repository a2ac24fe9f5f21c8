package local

import (
	"errors"
	"sync"
)

// uids are the host's user ids that containers have now. They belong to the
// process and not to a provider: after a reload two providers may have the
// same range.
var uids = uidSet{taken: make(map[uint32]bool)}

type uidSet struct {
	mu    sync.Mutex
	taken map[uint32]bool
	next  uint32 // where the search goes on, so that ids are reused late
}

var errNoUID = errors.New("all user ids of the range are in use (option uids)")

func (s *uidSet) take(first, count uint32) (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range count {
		id := first + s.next%count
		s.next++
		if !s.taken[id] {
			s.taken[id] = true
			return id, nil
		}
	}
	return 0, errNoUID
}

func (s *uidSet) free(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, id)
}
