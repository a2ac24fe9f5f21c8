package sandboxtest

import (
	"strings"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// killTime is the grace that a provider gives, with room for a slow machine.
const killTime = 20 * time.Second

// interrupted runs code that does not end, and interrupts it.
func (s *session) interrupted(code string) reply {
	s.Helper()
	r := s.runFor(time.Second, "print('begun', flush=True)\n"+code)
	if r.Outcome != sandbox.Interrupted {
		s.Fatalf("got %+v, want an interrupt, from:\n%s\n%s", r.Result, code, r.all())
	}
	if !strings.HasPrefix(r.all(), "begun\n") {
		s.Errorf("the output before the interrupt is lost: %q", r.all())
	}
	if r.took > killTime {
		s.Errorf("it took %v to end:\n%s", r.took, code)
	}
	return r
}

var timeTests = []test{
	{"an interrupt ends loops, and the session survives", func(s *session) { // cases/sandbox.md 1, 2, 15
		s.ok("x = 42")
		for _, code := range []string{
			"while True: pass",
			"import time; time.sleep(10**9)",
			"import subprocess; subprocess.run(['sleep', '600'])",
			"import os; os.system('sleep 600')",
			"import os, time; os.system('sleep 600'); time.sleep(600)",
			"import threading; threading.Event().wait()",
			"import asyncio; await asyncio.sleep(600)",
		} {
			if r := s.interrupted(code); r.Lost {
				s.Fatalf("lost by %s", code)
			}
			s.prints("x", "42")
		}
	}},
	{"code that swallows the interrupt is killed", func(s *session) { // cases/sandbox.md 3
		s.killed("import time\nwhile True:\n    try: time.sleep(600)\n    except BaseException: pass")
	}},
	{"code that ignores the signal is killed", func(s *session) { // cases/sandbox.md 4
		s.killed("import signal\nfor n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, signal.SIG_IGN)\nwhile True: pass")
	}},
	{"nothing that code does when it is interrupted holds it up", func(s *session) { // cases/sandbox.md 6, 8
		for _, code := range []string{
			"import time\ntry: time.sleep(600)\nfinally: time.sleep(600)",
			"import time\nclass C:\n    def __del__(self): time.sleep(600)\n    def __exit__(self, *a): time.sleep(600)\n" +
				"    def __enter__(self): pass\nwith C(): time.sleep(600)",
			"sum(range(10**12))", // C code, which looks at no signal
		} {
			s.container = s.create()
			if r := s.interrupted(code); r.Lost {
				s.gone()
			} else {
				s.alive()
			}
		}
	}},
	{"handlers of one cell do not outlive it", func(s *session) { // cases/sandbox.md 4
		s.ok("import signal\nfor n in (signal.SIGINT, signal.SIGTERM): h = signal.signal(n, signal.SIG_IGN)")
		s.ok("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); None")
		if r := s.interrupted("while True: pass"); r.Lost {
			s.Error("the session is lost")
		}
		s.ok("signal.alarm(1); None")
		time.Sleep(1500 * time.Millisecond)
		s.alive()
	}},
	{"an interrupt hits no later cell", func(s *session) {
		for range 20 {
			r := s.runFor(20*time.Millisecond, "import time\ntry: time.sleep(600)\nexcept KeyboardInterrupt: pass")
			if r.Outcome != sandbox.Interrupted || r.Lost {
				s.Fatalf("got %+v", r.Result)
			}
			s.alive()
		}
	}},
}

func (s *session) killed(code string) {
	s.Helper()
	if r := s.interrupted(code); !r.Lost {
		s.Errorf("the session lives on after:\n%s", code)
	}
	s.gone()
}

// dies runs code that ends the interpreter.
func (s *session) dies(code, detail string) {
	s.Helper()
	r := s.run("print('last words', flush=True)\n" + code)
	if r.Outcome != sandbox.Died || !r.Lost {
		s.Fatalf("got %+v, want death, from:\n%s\n%s", r.Result, code, r.all())
	}
	if !strings.HasPrefix(r.all(), "last words\n") {
		s.Errorf("the output before is lost: %q", r.all())
	}
	if !strings.Contains(r.Detail, detail) {
		s.Errorf("got %q, want %q in it", r.Detail, detail)
	}
	s.gone()
}

var deathTests = []test{
	{"leaving without a word is death, not success", func(s *session) { // cases/sandbox.md 22
		s.dies("import os; os._exit(0)", "exit status 0")
	}},
	{"a status is told", func(s *session) {
		s.dies("import os; os._exit(3)", "exit status 3")
	}},
	{"a segmentation fault", func(s *session) { // cases/sandbox.md 23
		s.dies("import ctypes; ctypes.string_at(0)", "SIGSEGV")
	}},
	{"an abort", func(s *session) { // cases/sandbox.md 23
		s.dies("import os; os.abort()", "SIGABRT")
	}},
	{"a signal with its default action", func(s *session) { // cases/sandbox.md 5
		s.dies("import signal, time; signal.alarm(1); time.sleep(600)", "SIGALRM")
	}},
	{"killing itself", func(s *session) { // cases/sandbox.md 18
		s.dies("import os; os.kill(os.getpid(), 9)", "")
	}},
	{"becoming another program", func(s *session) { // cases/sandbox.md 19
		s.dies("import os; os.execv('/bin/sh', ['sh', '-c', 'exit 7'])", "exit status 7")
	}},
	{"dying while a child lives on", func(s *session) {
		s.dies("import os, time\nif os.fork() == 0: time.sleep(600)\nos._exit(0)", "")
	}},
	{"dying while nothing runs", func(s *session) { // cases/sandbox.md 65
		s.ok("import os, threading\nthreading.Timer(0.2, os._exit, [1]).start()")
		time.Sleep(2 * time.Second)
		s.gone()
	}},
}

var processTests = []test{
	{"a fork bomb is bounded, and all of it ends", func(s *session) { // cases/sandbox.md 11
		got := s.ok(`import os, time
children = 0
try:
    while children < 5000:
        if os.fork() == 0: time.sleep(600)
        children += 1
except BlockingIOError as error:
    print(error)
children < 5000`)
		if !strings.HasSuffix(got, "True") {
			s.Errorf("got %q", got)
		}
		s.alive()
	}},
	{"a child that comes to the end of the cell is no second runner", func(s *session) { // cases/sandbox.md 11
		s.prints("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nNone", "")
		s.alive()
		s.prints("pid = os.fork()\nif pid == 0: raise SystemExit\n_ = os.waitpid(pid, 0)", "")
		s.alive()
	}},
	{"background processes live on, and the cell does not wait", func(s *session) { // cases/sandbox.md 12
		s.ok("import subprocess; p = subprocess.Popen(['sleep', '600'])")
		s.prints("p.poll() is None", "True")
	}},
	{"zombies are reaped", func(s *session) { // cases/sandbox.md 16
		s.ok(`import os
for i in range(1000):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)`)
		s.prints("import subprocess; subprocess.run(['true']).returncode", "0")
		s.prints(`import time
def zombies():
    count = 0
    for p in os.listdir('/proc'):
        if p.isdigit():
            try: count += ') Z ' in open('/proc/%s/stat' % p).read()
            except OSError: pass
    return count
for i in range(100):
    if zombies() == 0: break
    time.sleep(0.05)
zombies()`, "0")
	}},
	{"multiprocessing works", func(s *session) { // cases/sandbox.md 17
		s.ok("import multiprocessing as mp\ndef square(x): return x * x")
		s.prints("with mp.get_context('fork').Pool(4) as pool: r = pool.map(square, range(4))\nr", "[0, 1, 4, 9]")
		s.prints("import math\nwith mp.get_context('spawn').Pool(2) as pool: r = pool.map(math.sqrt, [4, 9])\nr", "[2.0, 3.0]")
		s.prints("with mp.get_context('forkserver').Pool(2) as pool: r = pool.map(math.sqrt, [4, 9])\nr", "[2.0, 3.0]")
		s.prints("from multiprocessing.shared_memory import SharedMemory\nm = SharedMemory(create=True, size=64); m.buf[0] = 7; v = m.buf[0]; m.close(); m.unlink(); v", "7")
		s.prints("from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as e: r = list(e.map(square, range(4)))\nr", "[0, 1, 4, 9]")
	}},
	{"a stuck pool can be interrupted", func(s *session) { // cases/sandbox.md 17
		s.ok("import multiprocessing as mp, time\npool = mp.get_context('fork').Pool(2)")
		s.interrupted("pool.map(time.sleep, [600, 600])")
	}},
	{"signals reach nothing outside", func(s *session) { // cases/sandbox.md 18
		other := s.create()
		for _, target := range []string{"1", "os.getppid()", "-1"} {
			for _, signal := range []string{"9", "15", "19"} {
				r := s.run("import os\ntry: os.kill(" + target + ", " + signal + ")\nexcept OSError as e: print(e)")
				if r.Lost {
					s.container = s.create()
				}
			}
		}
		s.container = other
		s.alive()
	}},
	{"commands work", func(s *session) { // cases/sandbox.md 20
		s.prints("import os; os.waitstatus_to_exitcode(os.system('echo a | tr a b; exit 3'))", "b\n3")
	}},
}
