package integration

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// newRealBed is a bed with the sandbox that runs code for real.
func newRealBed(t *testing.T, up *turns) *bed {
	t.Helper()
	b := newBed(t, up)
	b.sandbox = "sandbox local {\n\t\tpython {$CODE_PYTHON:python3}\n\t}"
	t.Cleanup(func() { // before the bed's own
		if err := caddy.Stop(); err != nil {
			t.Errorf("stopping Caddy: %v", err)
		}
		eventually(t, "all processes are gone", func() bool { return len(descendants(t)) == 0 })
	})
	return b
}

// descendants are the processes below this one.
func descendants(t *testing.T) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int]int{}
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var pid, parent int
		var state string
		head, rest, _ := strings.Cut(string(data), " (")
		_, _ = fmt.Sscan(head, &pid)
		_, _ = fmt.Sscan(rest[strings.LastIndex(rest, ")")+1:], &state, &parent)
		parents[pid] = parent
	}
	var below []int
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == os.Getpid() {
				below = append(below, pid)
				break
			}
		}
	}
	return below
}

func session(id, more string, code ...string) string {
	return question(`,"metadata":{"session_id":"`+id+`"}`+more, code...)
}

func TestRealCodeRuns(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		b := newRealBed(t, newTurns()).start(behindProxy)
		said := b.post(question(more, "x = 6 # "+hidden, "print(x * 7)")).completed()
		if !strings.Contains(said, "42") {
			t.Errorf("the model was told %q", said)
		}
	})
}

func TestRealStateIsItsSessionsOwn(t *testing.T) {
	b := newRealBed(t, newTurns()).start(behindProxy)
	b.post(session("s", "", "x = '"+hidden+"'")).completed()
	if said := b.post(session("s", "", "print(x)")).completed(); !strings.Contains(said, hidden) {
		t.Errorf("the session has lost its state: %q", said)
	}
	for name, c := range map[string][2]string{
		"other session":  {credential, session("t", "", "print(x)")},
		"no session":     {credential, question("", "print(x)")},
		"other identity": {"Bearer other", session("s", "", "print(x)")},
	} {
		r := b.request(strings.NewReader(c[1]))
		r.Header.Set("Authorization", c[0])
		if said := b.do(r).completed(); strings.Contains(said, hidden) || !strings.Contains(said, "NameError") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

func TestRealParallelRequestsAllSucceed(t *testing.T) {
	b := newRealBed(t, newTurns()).start(behindProxy)
	var all sync.WaitGroup
	answers := make([]*answer, 12)
	for n := range answers {
		r := b.request(strings.NewReader(question("", fmt.Sprintf("print(%d * 1001)", n+1))))
		all.Go(func() { answers[n], _ = b.try(r) })
	}
	all.Wait()
	for n, a := range answers {
		if a == nil {
			t.Fatal("no answer")
		}
		if said := a.completed(); !strings.Contains(said, fmt.Sprint((n+1)*1001)) {
			t.Errorf("request %d got %q", n, said)
		}
	}
}

// interpreting sends a streamed request and returns when its code runs; rest
// reads on to the end.
func (b *bed) interpreting(ctx context.Context, body string) (rest func() *answer) {
	b.t.Helper()
	resp, err := b.client.Do(b.request(strings.NewReader(body)).WithContext(ctx))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewReader(resp.Body)
	var got []byte
	for {
		line, err := lines.ReadBytes('\n')
		got = append(got, line...)
		if err != nil {
			b.t.Fatalf("reading: %v\n%s", err, got)
		}
		if strings.Contains(string(line), "response.code_interpreter_call.interpreting") {
			break
		}
	}
	return func() *answer {
		for {
			line, err := lines.ReadBytes('\n')
			got = append(got, line...)
			if err != nil {
				return b.answer(resp, got)
			}
		}
	}
}

func TestRealProcessesEndWhenTheClientGoesAway(t *testing.T) {
	b := newRealBed(t, newTurns()).start(behindProxy)
	for _, code := range []string{
		"import time\ntime.sleep(3600)",
		"while True: pass",
		"import subprocess\nsubprocess.run(['sleep', '3600'])",
	} {
		ctx, cancel := context.WithCancel(context.Background())
		b.interpreting(ctx, question(`,"stream":true`, code))
		eventually(t, "code runs", func() bool { return len(descendants(t)) > 0 })
		cancel()
		eventually(t, "its processes are gone", func() bool { return len(descendants(t)) == 0 })
	}
}

func TestRealReloadWhileCodeRuns(t *testing.T) {
	b := newRealBed(t, newTurns()).start(behindProxy)
	b.post(session("s", "", "x = 41")).completed()
	rest := b.interpreting(context.Background(), session("s", `,"stream":true`, "import time\ntime.sleep(2)\nx += 1\nprint('slept')"))
	processes := len(descendants(t))
	b.start(strings.Replace(behindProxy, "STANDARD", "STANDARD\n\tttl 5m\n\tmax_containers 3", 1))
	if now := len(descendants(t)); now > processes {
		t.Errorf("%d processes became %d", processes, now)
	}
	if said := rest().completed(); !strings.Contains(said, "slept") {
		t.Errorf("the running request got %q", said)
	}
	if said := b.post(session("s", "", "print(x)")).completed(); !strings.Contains(said, "42") {
		t.Errorf("the session got %q", said)
	}
}
