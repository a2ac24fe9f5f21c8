package sandbox

import (
	"strconv"
	"testing"
)

func TestTombstonesAreBoundedAndOwned(t *testing.T) {
	stones := newTombstones()
	mine, other := Owner{"s", "key", "a"}, Owner{"s", "key", "b"}
	for i := range 2*maxTombstones + 7 {
		stones.add(strconv.Itoa(i), mine)
	}
	if len(stones.owners) != maxTombstones || len(stones.ring) != maxTombstones {
		t.Errorf("%d owners, %d in the ring", len(stones.owners), len(stones.ring))
	}
	oldest := maxTombstones + 7
	if stones.of(strconv.Itoa(oldest-1), mine) || !stones.of(strconv.Itoa(oldest), mine) {
		t.Error("not the oldest ones were dropped")
	}
	if stones.of(strconv.Itoa(oldest), other) {
		t.Error("shown to another owner")
	}
}
