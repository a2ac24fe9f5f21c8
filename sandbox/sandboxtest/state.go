package sandboxtest

import "strings"

var stateTests = []test{
	{"names, modules and the directory stay", func(s *session) { // cases/sandbox.md 48
		s.ok("import math, os\nx = [1]\ndef f(): return x\nos.makedirs('d')\nos.chdir('d')\nos.environ['E'] = 'e'")
		s.prints("x.append(2); f(), math.floor(1.5), os.getcwd(), os.environ['E']", "([1, 2], 1, '/mnt/data/d', 'e')")
	}},
	{"code starts in /mnt/data, as __main__", func(s *session) {
		s.prints("import os; os.getcwd(), __name__", "('/mnt/data', '__main__')")
	}},
	{"modules in the directory can be imported", func(s *session) {
		s.ok("open('helper.py', 'w').write('answer = 42')\nNone")
		s.prints("import helper; helper.answer", "42")
	}},
	{"classes of the code can be pickled", func(s *session) {
		s.ok("import pickle\nclass C:\n    x = 1")
		s.prints("pickle.loads(pickle.dumps(C())).x", "1")
	}},
	{"the underscore is the last value", func(s *session) {
		s.prints("20+1", "21")
		s.prints("_*2", "42")
	}},
	{"cells survive what an earlier one did to the interpreter", func(s *session) { // cases/sandbox.md 42, 48
		for _, code := range []string{
			"globals().clear()",
			"del __builtins__",
			"import sys; sys.modules.clear()",
			"import builtins; builtins.open = builtins.print = builtins.repr = builtins.len = None",
			"import json, os, traceback; json.dumps = os.read = os.dup2 = traceback.format_exc = traceback.TracebackException = None",
			"import sys; sys.stdout = sys.stderr = None",
			"import sys; sys.stdout.close(); sys.stderr.close()",
			"import os; os.close(1); os.close(2)",
			"import os; os.close(0)",
			"import sys; sys.stdout = open('/dev/null', 'w')",
			"import gc; gc.disable()",
			"import sys; sys.setrecursionlimit(60)",
			"import sys; sys.excepthook = sys.displayhook = None",
			"import sys; sys.meta_path.clear()",
			"import sys; sys.settrace(lambda *a: 1/0)",
			"import linecache; linecache.cache = None",
			"import threading; threading._active = None",
			"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)",
			"import signal; signal.signal(signal.SIGALRM, lambda *a: 1/0); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)",
			"import builtins; builtins.__dict__.clear()",
		} {
			s.container = s.create()
			r := s.run(code)
			if r.Lost {
				s.Errorf("lost by %s: %s", code, r.Detail)
				continue
			}
			r = s.run("40+2")
			if r.all() != "42" {
				s.Errorf("after %s: %+v %q", code, r.Result, r.all())
			}
			if strings.Contains(code, "builtins") || strings.Contains(code, "modules.clear") {
				continue // the code's own names stay broken
			}
			if r = s.run("import os\nos.write(1, b'a')\nprint('b')\n1/0"); !strings.Contains(r.all(), "ab\n") ||
				!strings.Contains(r.all(), "ZeroDivisionError") {
				s.Errorf("after %s: %q", code, r.all())
			}
		}
	}},
}
