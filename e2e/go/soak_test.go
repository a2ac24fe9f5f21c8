package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// TestSoak lets eight clients work for $SOAK and looks whether anything grows:
// Caddy's own memory and open files, and what it left running. It is skipped
// when SOAK is not set.
func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Skip("SOAK is not set to a duration such as 10m")
	}
	g := start(t)
	work := func(client openai.Client, round int) {
		request := withTool(text(ask("[repair]", "print(1/0)", fmt.Sprintf("print(%d * 2)", round))))
		if round%4 == 0 {
			request.Metadata = shared.Metadata{"session_id": strconv.Itoa(rand.IntN(8))}
		}
		send := []send{sendWhole, sendStreaming}[round%2]
		response, err := send(t, client, request)
		if err != nil {
			t.Error(err)
			return
		}
		wantText(t, response, strconv.Itoa(round*2))
	}
	load := func(duration time.Duration) (done int) {
		var group sync.WaitGroup
		counts := make([]int, 8)
		for worker := range counts {
			group.Go(func() {
				client := g.client(fmt.Sprintf("%s-%d", apiKey, worker))
				for end := time.Now().Add(duration); time.Now().Before(end) && !t.Failed(); counts[worker]++ {
					work(client, counts[worker]*8+worker)
				}
			})
		}
		group.Wait()
		for _, count := range counts {
			done += count
		}
		return done
	}

	load(duration / 10) // what a working server needs is there after this
	memory, files := g.memory(t), g.files(t)
	done := load(duration)
	t.Logf("%d requests; memory %d → %d KiB, open files %d → %d", done, memory, g.memory(t), files, g.files(t))
	if now := g.memory(t); now > memory*3/2+50<<10 {
		t.Errorf("Caddy's memory grew from %d to %d KiB", memory, now)
	}
	if now := g.files(t); now > files+50 {
		t.Errorf("Caddy's open files grew from %d to %d", files, now)
	}
	// Eight keys with at most eight sessions each are kept; each of those is
	// a few processes.
	if left := g.descendants(t); left > 8*8*4 {
		t.Errorf("%d processes are left", left)
	}
}

func (g *gateway) memory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(value)[0])
			return n
		}
	}
	return 0
}

func (g *gateway) files(t *testing.T) int {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", g.pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// descendants counts the processes below Caddy.
func (g *gateway) descendants(t *testing.T) int {
	t.Helper()
	listing, err := exec.Command("ps", "-eo", "pid=,ppid=").Output()
	if err != nil {
		t.Skip("there is no ps")
	}
	children := make(map[string][]string)
	for line := range strings.Lines(string(listing)) {
		if f := strings.Fields(line); len(f) == 2 {
			children[f[1]] = append(children[f[1]], f[0])
		}
	}
	count := 0
	for queue := []string{strconv.Itoa(g.pid)}; len(queue) > 0; queue = queue[1:] {
		queue = append(queue, children[queue[0]]...)
		count += len(children[queue[0]])
	}
	return count
}
