package sandboxtest

import (
	"fmt"
	"strings"
)

var limitTests = []test{
	{"too much memory at once is refused", func(s *session) { // cases/sandbox.md 29
		s.raises("b = bytearray(10**11)", "MemoryError")
		s.alive()
	}},
	{"directories are bounded in bytes", func(s *session) { // cases/sandbox.md 31
		for _, dir := range []string{"/mnt/data", "/tmp", "/dev/shm", "~"} {
			got := s.ok(fmt.Sprintf(`import os
path = os.path.expanduser(%q)
block = b'x' * (1 << 20)
written, names = 0, []
try:
    while written < 200_000:
        names.append(path + '/f%%d' %% written)
        with open(names[-1], 'wb', buffering=0) as f:
            for i in range(64):
                f.write(block)
                written += 1
except OSError as error:
    print(error.errno)
for name in names: os.remove(name)
written > 0`, dir))
			if got != "28\nTrue" {
				s.Errorf("%s: got %q", dir, got)
			}
		}
		s.alive()
	}},
	{"directories are bounded in files", func(s *session) { // cases/sandbox.md 32
		for _, dir := range []string{"/mnt/data", "/tmp", "/dev/shm", "~"} {
			got := s.ok(fmt.Sprintf(`import os
path = os.path.expanduser(%q)
count = 0
try:
    while count < 300_000:
        os.close(os.open(path + '/f%%d' %% count, os.O_CREAT))
        count += 1
except OSError as error:
    print(error.errno)
for i in range(count): os.remove(path + '/f%%d' %% i)
count > 100`, dir))
			if got != "28\nTrue" {
				s.Errorf("%s: got %q", dir, got)
			}
		}
	}},
	{"open files are bounded", func(s *session) { // cases/sandbox.md 34
		got := s.ok(`files = []
try:
    while len(files) < 100_000: files.append(open('/dev/null'))
except OSError as error: print(error.errno)
del files`)
		if got != "24\n" {
			s.Errorf("got %q", got)
		}
		s.alive()
	}},
	{"threads are bounded", func(s *session) { // cases/sandbox.md 35
		got := s.ok(`import threading
end = threading.Event()
threads = []
try:
    while len(threads) < 50_000:
        t = threading.Thread(target=end.wait)
        t.start()
        threads.append(t)
except RuntimeError as error: print(error)
end.set()
for t in threads: t.join()
len(threads) > 4`)
		if !strings.Contains(got, "thread") || !strings.HasSuffix(got, "True") {
			s.Errorf("got %q", got)
		}
		s.alive()
	}},
	{"no file grows past the bound, also a sparse one", func(s *session) {
		s.raises("f = open('/tmp/sparse', 'wb'); f.truncate(10**13); f.seek(10**13); f.write(b'x' * 10**8)", "OSError")
		s.alive()
	}},
}
