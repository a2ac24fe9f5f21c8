package sandboxtest

import (
	"strings"
	"unicode/utf8"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

var errorTests = []test{
	{"a traceback has the code's frames, lines and nothing else", func(s *session) {
		s.ok("def f(x):\n    y = 1\n    return y / x")
		got := s.raises("# first line\nf(0)", "line 2, in <module>", "f(0)", "line 3, in f", "return y / x",
			"ZeroDivisionError: division by zero")
		if strings.Count(got, "File ") != 2 {
			s.Errorf("got other frames:\n%s", got)
		}
	}},
	{"the detail is the exception in a line", func(s *session) {
		for _, tt := range []struct{ code, want string }{
			{"1/0", "ZeroDivisionError: division by zero"},
			{"raise ValueError('a\\nb')", "ValueError: a"},
			{"raise SystemExit(3)", "SystemExit: 3"},
			{"x = (", "SyntaxError: "},
		} {
			if r := s.run(tt.code); !strings.HasPrefix(r.Detail, tt.want) || strings.Contains(r.Detail, "\n") {
				s.Errorf("got %q from %s", r.Detail, tt.code)
			}
		}
	}},
	{"leaving the interpreter only ends the cell", func(s *session) { // cases/sandbox.md 21
		s.ok("x = 1")
		for _, code := range []string{"import sys; sys.exit()", "exit()", "quit()", "raise SystemExit(3)", "sys.exit('bye')"} {
			s.raises(code+"\nx = 2", "SystemExit")
		}
		s.prints("x", "1")
	}},
	{"an interrupt that the code raises is its own", func(s *session) { // cases/sandbox.md 24
		s.raises("raise KeyboardInterrupt", "KeyboardInterrupt")
		s.raises("import signal; signal.raise_signal(signal.SIGINT)", "KeyboardInterrupt")
		s.alive()
	}},
	{"source that is no Python is a clean error", func(s *session) { // cases/sandbox.md 26
		s.raises("x = 1\ny = = 2", "SyntaxError", "line 2")
		s.raises("if True:\nx = 1", "IndentationError", "line 2")
		s.raises("x = 1\x00", "null bytes")
		s.raises("return 1", "SyntaxError")
		s.raises("x = '\xed\xa0\x80'", "Error")
		s.raises("print('not run')\nreturn", "SyntaxError")
		s.alive()
	}},
	{"unusual source works", func(s *session) { // cases/sandbox.md 26
		s.prints("\ufeff1+1", "2")
		s.prints("x = 1\r\nif x:\r\n    print('crlf')\r\nx", "crlf\n1")
		s.raises("x = 1\r\n\r\n1/0", "line 3")
		s.prints("x = '"+strings.Repeat("é", 500_000)+"'\nlen(x)", "500000")
		s.ok("x = '\xff'")
		s.alive()
	}},
	{"chains and groups of exceptions are shown", func(s *session) { // cases/sandbox.md 27
		s.raises("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('outer') from e",
			"ZeroDivisionError", "direct cause", "ValueError: outer")
		s.ok("import sys\nif sys.version_info < (3, 11):\n    class ExceptionGroup(Exception): pass")
		s.raises("raise ExceptionGroup('several', [ValueError('one'), TypeError('two')])", "several", "one", "two")
	}},
	{"long tracebacks are cut in the middle", func(s *session) { // cases/sandbox.md 27
		s.ok("import sys\nsys.setrecursionlimit(12000)\ndef f(n): return g(n)\ndef g(n): return f(n + 1)")
		got := s.raises("f(0)", "RecursionError", "<module>")
		if len(got) > 100_000 {
			s.Errorf("got %d bytes", len(got))
		}
		s.alive()
	}},
	{"exceptions that cannot be shown do no harm", func(s *session) {
		s.raises("class E(Exception):\n    def __str__(self): raise SystemExit\nraise E", "E")
		s.raises("e = ValueError('loop'); e.__cause__ = e\nraise e", "loop")
		s.raises("raise ValueError('\\ud800')", "ValueError")
		s.alive()
	}},
	{"an exception in a thread does not fail the cell", func(s *session) { // cases/sandbox.md 28
		got := s.ok("import threading, sys\nt = threading.Thread(target=lambda: 1/0); t.start(); t.join()\n" +
			"t = threading.Thread(target=sys.exit); t.start(); t.join()")
		if !strings.Contains(got, "ZeroDivisionError") {
			s.Errorf("got %q", got)
		}
	}},
	{"large integers keep Python's own limit", func(s *session) { // cases/sandbox.md 7
		r := s.run("import sys\nsys.set_int_max_str_digits(4300)\nstr(7 ** 10**4)")
		if r.Outcome != sandbox.Raised || !utf8.ValidString(r.all()) {
			s.Errorf("got %+v", r.Result)
		}
	}},
}

const noInput = "no input"

var inputTests = []test{
	{"reading input fails at once and says why", func(s *session) { // cases/sandbox.md 47
		for _, code := range []string{
			"input('name? ')",
			"import sys; sys.stdin.read()",
			"sys.stdin.readline()",
			"for line in sys.stdin: pass",
			"import getpass; getpass.getpass()",
			"breakpoint()",
		} {
			s.raises(code, "EOFError", noInput)
		}
		s.alive()
	}},
	{"debuggers and consoles end at once", func(s *session) { // cases/sandbox.md 47
		s.run("import pdb; pdb.set_trace()")
		s.run("import code; code.interact()")
		s.prints("import subprocess; subprocess.run(['cat']).returncode", "0")
		s.alive()
	}},
}
