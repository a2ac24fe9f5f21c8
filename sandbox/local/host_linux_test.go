package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/local/internal/jail"
)

const patience = 30 * time.Second

func newContainer(t *testing.T) *container {
	t.Helper()
	c, err := newLocal(t).Create(context.Background(), sandbox.Spec{ID: "cntr_test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Delete(context.Background()) })
	return c.(*container)
}

// output runs code and returns all that it puts out.
func output(t *testing.T, c sandbox.Container, code string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var b strings.Builder
	result, err := c.Run(ctx, code, func(out sandbox.Output) { b.WriteString(out.Text) })
	if err != nil || result.Outcome != sandbox.Completed {
		t.Fatalf("got %+v, %v, %s", result, err, b.String())
	}
	return b.String()
}

func TestNoProcessHasTheHostsRoot(t *testing.T) {
	c := newContainer(t)
	output(t, c, "import subprocess; p = subprocess.Popen(['sleep', '600'])")
	pids := descendants(t, c.cmd.Process.Pid)
	if len(pids) != 3 {
		t.Fatalf("the control fails: got processes %v, want init, Python and its child", pids)
	}
	for _, pid := range pids {
		for _, field := range []string{"Uid:", "Gid:"} {
			ids := statusField(t, pid, field)
			for _, id := range ids {
				if id == "0" {
					t.Errorf("process %d has %s %v", pid, field, ids)
				}
			}
		}
		for _, group := range statusField(t, pid, "Groups:") {
			if os.Getuid() == 0 && group != strconv.Itoa(hostID(t, pid)) {
				t.Errorf("process %d is in group %s", pid, group)
			}
		}
		for _, field := range []string{"CapPrm:", "CapEff:", "CapInh:", "CapBnd:", "CapAmb:"} {
			if got := statusField(t, pid, field); strings.Trim(got[0], "0") != "" {
				t.Errorf("process %d has %s %s", pid, field, got[0])
			}
		}
	}
}

func TestContainersHaveUsersOfTheirOwn(t *testing.T) {
	if os.Getuid() != 0 {
		return // without root there is only Caddy's own user
	}
	a, b := newContainer(t), newContainer(t)
	first, second := hostID(t, a.cmd.Process.Pid), hostID(t, b.cmd.Process.Pid)
	if first == second || first < defaultFirstUID {
		t.Errorf("got users %d and %d", first, second)
	}
	isTaken := func() bool {
		uids.mu.Lock()
		defer uids.mu.Unlock()
		return uids.taken[uint32(first)]
	}
	if !isTaken() {
		t.Errorf("user %d counts as free", first)
	}
	if err := a.Delete(context.Background()); err != nil {
		t.Fatal(err)
	}
	if isTaken() {
		t.Errorf("the user of a deleted container is not free")
	}
}

func TestNothingIsLeftOfAContainer(t *testing.T) { // cases/sandbox.md 11, 16
	newContainer(t).Delete(context.Background()) // what is started once only
	before := measure(t)
	for i := range 10 {
		c := newContainer(t)
		code := "import os, subprocess\nfor i in range(5): subprocess.Popen(['sleep', '600'], start_new_session=True)"
		switch i % 4 {
		case 1:
			code += "\nos._exit(1)"
		case 2:
			code += "\nwhile True: pass"
		case 3:
			code += "\nfor i in range(100): print('x' * 1000)"
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, _ = c.Run(ctx, code, func(sandbox.Output) {})
		cancel()
		if err := c.Delete(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	before.compare(t)
}

func TestNothingIsLeftOfACreationThatWasGivenUp(t *testing.T) {
	newContainer(t).Delete(context.Background())
	l := newLocal(t)
	before := measure(t)
	for i := range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*10*time.Millisecond)
		if c, err := l.Create(ctx, sandbox.Spec{}); err == nil {
			c.Delete(context.Background())
		}
		cancel()
	}
	before.compare(t)
}

func TestIdleContainersKeepNoMemory(t *testing.T) { // cases/sandbox.md 38
	c := newContainer(t)
	output(t, c, "import subprocess; p = subprocess.Popen(['yes'])")
	time.Sleep(500 * time.Millisecond)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	time.Sleep(time.Second)
	runtime.GC()
	runtime.ReadMemStats(&m)
	if grown := int64(m.HeapAlloc) - int64(before); grown > 4<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// matplotlib's list of fonts takes longer than the rest of importing it.
func TestContainersStartWithAListOfFonts(t *testing.T) {
	l := newLocal(t)
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(50 * time.Millisecond) {
		if len(l.jails.seed.get(l.jails)) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("there is none; the tests need matplotlib, see `make test`")
		}
	}
	c := newContainer(t)
	got := output(t, c, `import glob, json, os
path, = glob.glob(os.environ['MPLCONFIGDIR'] + '/fontlist-*.json')
len(json.load(open(path))['ttflist']) > 0, os.access(path, os.W_OK)`)
	if got != "(True, True)" {
		t.Errorf("got %s", got)
	}
}

// traces are what containers could leave behind in Caddy's process.
type traces struct{ fds, goroutines, processes int }

func measure(t *testing.T) traces {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return traces{len(fds), runtime.NumGoroutine(), len(descendants(t, os.Getpid()))}
}

// compare waits until there is no more than before: goroutines take a moment.
func (before traces) compare(t *testing.T) {
	t.Helper()
	var after traces
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		after = measure(t)
		if after.fds <= before.fds && after.goroutines <= before.goroutines && after.processes <= before.processes {
			return
		}
	}
	t.Errorf("before: %+v, after: %+v", before, after)
}

// descendants are a process and all below it, zombies included.
func descendants(t *testing.T, root int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := make(map[int][]int)
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		var pid, parent int
		var state string
		rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
		fmt.Sscanf(string(text), "%d", &pid)
		fmt.Sscanf(rest, "%s %d", &state, &parent)
		children[parent] = append(children[parent], pid)
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

func statusField(t *testing.T, pid int, name string) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.Fields(rest)
		}
	}
	t.Fatalf("process %d has no %s", pid, name)
	return nil
}

func hostID(t *testing.T, pid int) int {
	t.Helper()
	id, err := strconv.Atoi(statusField(t, pid, "Uid:")[0])
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The two must agree on the name, or every launcher would be a whole Caddy.
func TestLauncherIsStartedByItsName(t *testing.T) {
	c := newContainer(t)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.cmd.Process.Pid))
	if err != nil || string(text) != jail.Arg0+"\x00" {
		t.Errorf("got %q, %v", text, err)
	}
}
