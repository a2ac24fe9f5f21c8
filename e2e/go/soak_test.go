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
	const sessions = 8 // of each client
	work := func(client openai.Client, round, session int) {
		request := withTool(text(ask("[repair]", "print(1/0)", fmt.Sprintf("print(%d * 2)", round))))
		if session < sessions {
			request.Metadata = shared.Metadata{"session_id": strconv.Itoa(session)}
		}
		send := []send{sendWhole, sendStreaming}[rand.IntN(2)]
		response, err := send(t, client, request)
		if err != nil {
			t.Errorf("round %d: %v", round, err)
			return
		}
		wantText(t, response, strconv.Itoa(round*2))
	}
	// each lets the clients send requests until more says no.
	each := func(more func(round int) bool, session func(round int) int) (done int) {
		var group sync.WaitGroup
		counts := make([]int, 8)
		for worker := range counts {
			group.Go(func() {
				client := g.client(fmt.Sprintf("%s-%d", apiKey, worker))
				for ; more(counts[worker]) && !t.Failed(); counts[worker]++ {
					work(client, counts[worker], session(counts[worker]))
				}
			})
		}
		group.Wait()
		for _, count := range counts {
			done += count
		}
		return done
	}

	// What a working server needs, the containers of all sessions included,
	// is there after this.
	each(func(round int) bool { return round < 2*sessions }, func(round int) int { return round })
	memory, files := g.memory(t), g.files(t)
	end := time.Now().Add(duration)
	done := each(func(int) bool { return time.Now().Before(end) }, func(int) int { return rand.IntN(4 * sessions) })
	t.Logf("%d requests; memory %d → %d KiB, open files %d → %d", done, memory, g.memory(t), files, g.files(t))
	if now := g.memory(t); now > memory*3/2+50<<10 {
		t.Errorf("Caddy's memory grew from %d to %d KiB", memory, now)
	}
	if now := g.files(t); now > files+50 {
		t.Errorf("Caddy's open files grew from %d to %d", files, now)
	}
	// The containers of the sessions are kept; each is a few processes.
	if left := g.descendants(t); left > 8*sessions*4 {
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
		t.Fatalf("listing processes (install procps): %v", err)
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
