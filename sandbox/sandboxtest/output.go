package sandboxtest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

var outputTests = []test{
	{"output of all sources comes in its order", func(s *session) { // cases/sandbox.md 43
		s.prints(`import ctypes, os, subprocess, sys
print('1 print')
os.write(1, b'2 os.write\n')
print('3 stderr', file=sys.stderr)
sys.stdout.write('4 no newline, ')
os.system('echo 5 system')
sys.stdout.buffer.write(b'6 buffer\n'); sys.stdout.buffer.flush()
subprocess.run(['echo', '7 child'])
os.write(2, b'8 os.write 2\n')
ctypes.CDLL(None).printf(b'9 printf\n'); ctypes.CDLL(None).fflush(None)
'10 value'`,
			"1 print\n2 os.write\n3 stderr\n4 no newline, 5 system\n6 buffer\n7 child\n8 os.write 2\n9 printf\n'10 value'")
	}},
	{"what C code printed is not left in its buffer", func(s *session) { // cases/sandbox.md 40
		s.prints("import ctypes\nn = ctypes.CDLL(None).printf(b'from C')", "from C")
	}},
	{"any bytes pass", func(s *session) { // cases/sandbox.md 40
		got := s.ok("import os, sys\nn = sys.stdout.buffer.write(bytes(range(256)) * 4000)")
		want := make([]byte, 256)
		for i := range want {
			want[i] = byte(i)
		}
		if got != strings.Repeat(string(want), 4000) {
			s.Errorf("got %d other bytes", len(got))
		}
	}},
	{"any text passes", func(s *session) { // cases/sandbox.md 41
		got := s.ok(`print('\ud800', chr(56550), '😀' * 20000, '\0', '\x1b[31m', 'a\rb', '\u202e')`)
		if !utf8.ValidString(got) || strings.Count(got, "😀") != 20000 || !strings.Contains(got, "\x00") ||
			!strings.Contains(got, "\x1b[31m") || !strings.Contains(got, "a\rb") {
			s.Errorf("something is lost of %d bytes", len(got))
		}
		s.alive()
	}},
	{"a forged frame harms nobody else", func(s *session) { // cases/sandbox.md 40
		other := s.create()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := execute(ctx, s.container, `import os
for fd in range(3, 64):
    try: os.write(fd, os.urandom(100000))
    except OSError: pass
`)
		if err != nil && errors.Is(err, sandbox.ErrGone) {
			s.Error("the code was started, so ErrGone would have it run twice")
		}
		s.container = other
		s.alive()
	}},
	{"what is printed after a cell belongs to none", func(s *session) { // cases/sandbox.md 13, 40, 45
		s.prints("import subprocess, threading, time\nchild = subprocess.Popen(['sh', '-c', 'sleep 0.5; echo late child'])", "")
		s.prints("def late():\n    time.sleep(0.5)\n    print('late thread')\nthread = threading.Thread(target=late)\nthread.start()", "")
		s.prints("print('mine'); c = child.wait(); thread.join(); time.sleep(0.3)", "mine\n")
		time.Sleep(200 * time.Millisecond)
		s.prints("print('mine')", "mine\n")
		s.prints("t = threading.Thread(target=lambda: print('from a thread')); t.start(); t.join()", "from a thread\n")
	}},
	{"a background process that prints all the time disturbs nothing", func(s *session) { // cases/sandbox.md 12, 13
		r := s.run("import subprocess; child = subprocess.Popen(['yes'])")
		if r.Outcome != sandbox.Completed {
			s.Fatalf("got %+v", r.Result)
		}
		for range 5 {
			time.Sleep(50 * time.Millisecond)
			s.alive()
		}
		s.prints("child.poll() is None", "True")
	}},
	{"endless output can be cut, and memory stays flat", func(s *session) { // cases/sandbox.md 38
		s.flood("while True: print('x' * 1000)")
	}},
	{"endless output of a child can be cut", func(s *session) { // cases/sandbox.md 15, 38
		s.flood("import subprocess; subprocess.run('yes')")
	}},
	{"one line of 100 MB passes without being held", func(s *session) { // cases/sandbox.md 39
		var size, largest int
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		result, err := s.container.Run(ctx, "print('x' * 10**8, end='')", func(out sandbox.Output) {
			size += len(out.Text)
			largest = max(largest, len(out.Text))
		})
		if err != nil || result.Outcome != sandbox.Completed || size != 1e8 || largest > 1<<20 {
			s.Errorf("got %d bytes, at most %d at a time, %+v, %v", size, largest, result, err)
		}
		s.alive()
	}},
	{"huge values and tracebacks are cut by the sandbox", func(s *session) { // cases/sandbox.md 39
		for _, code := range []string{"'x' * 10**7", "raise ValueError('x' * 10**7)"} {
			if r := s.run(code); len(r.all()) > 1<<20 || len(r.all()) == 0 {
				s.Errorf("got %d bytes from %s", len(r.all()), code)
			}
		}
		s.alive()
	}},
}

// flood runs code that prints for ever, and cuts it after some output.
func (s *session) flood(code string) {
	s.Helper()
	const enough = 4 << 20
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	size := 0
	var cut time.Time
	result, err := s.container.Run(ctx, code, func(out sandbox.Output) {
		if size += len(out.Text); size >= enough && cut.IsZero() {
			cut = time.Now()
			cancel()
		}
	})
	if err != nil || result.Outcome != sandbox.Interrupted || size < enough {
		s.Fatalf("got %d bytes, %+v, %v", size, result, err)
	}
	if took := time.Since(cut); took > 20*time.Second {
		s.Errorf("it ended %v after the cut", took)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		s.Errorf("memory grew by %d bytes", grown)
	}
	if !result.Lost {
		s.alive()
	}
}
