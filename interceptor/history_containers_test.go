package interceptor

import (
	"fmt"
	"slices"
	"testing"
)

// A history names containers as often as its client likes; only the newest
// are looked at, each once, however long it is.
func TestOnlyTheNewestContainersOfAHistoryCount(t *testing.T) {
	var ids []string
	for n := range 100_000 {
		ids = append(ids, fmt.Sprint(n%50))
	}
	got := newest(append(ids, "49", "x"))
	if len(got) != maxHistoryContainers || !slices.Equal(got[:3], []string{"x", "49", "48"}) {
		t.Errorf("got %q", got)
	}
}
