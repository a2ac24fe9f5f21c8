package local

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// Code can keep the output pipe of every cell open, which must not cost Caddy
// a descriptor and a goroutine for each.
func TestCellsCannotPinTheHostsDescriptors(t *testing.T) {
	c := newContainer(t)
	output(t, c, "import os; keep = []")
	descriptors, routines := openDescriptors(t), runtime.NumGoroutine()
	const cells = 5 * maxPipes
	for range cells {
		output(t, c, "keep.append(os.dup(1))")
	}
	if got := output(t, c, "print(len(keep))"); got != "80\n" {
		t.Fatalf("the control fails: %q pipes are kept", got)
	}
	// What was given up is closed by its own goroutine, soon.
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		more, extra := openDescriptors(t)-descriptors, runtime.NumGoroutine()-routines
		if more <= maxPipes+1 && extra <= maxPipes+1 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d descriptors and %d goroutines more", more, extra)
		}
	}
	if got := output(t, c, "print('still here')"); got != "still here\n" {
		t.Errorf("got %q", got)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
