package sandboxtest

import "github.com/codeinterp/caddy-code-interpreter/sandbox"

var echoTests = []test{
	{"the last expression is shown as a notebook does", func(s *session) { // cases/sandbox.md 46
		for _, tt := range []struct{ code, want string }{
			{"1+1", "2"},
			{"'a'", "'a'"},
			{"x = 5", ""},
			{"x = 5\nx", "5"},
			{"5;", ""},
			{"5 ; # hidden", ""},
			{"(5);", ""},
			{"'a;'", "'a;'"},
			{"5 # shown;", "5"},
			{"'€;'", "'€;'"},
			{"'€';", ""},
			{"x = 1; x", "1"},
			{"None", ""},
			{"5\n# comment", "5"},
			{"for i in range(2): i", ""},
			{"def f():\n    return 3\nf()", "3"},
			{"@staticmethod\ndef g(): pass", ""},
			{"", ""},
			{"# only a comment", ""},
			{"[\n  1,\n  2,\n]", "[1, 2]"},
			{"lambda: 0;", ""},
			{"class R:\n    def __repr__(self):\n        print('printing')\n        return 'R'\nR()", "printing\nR"},
			{"import asyncio\nawait asyncio.sleep(0, 'awaited')", "'awaited'"},
			{"async def a():\n    return 7\nx = await a()\nprint(x)", "7\n"},
			{"import asyncio\nasyncio.run(a())", "7"},
			{"display(1, 'a')", "1\n'a'\n"},
		} {
			s.prints(tt.code, tt.want)
		}
	}},
	{"values are not text", func(s *session) {
		r := s.run("print('text'); 'value'")
		if r.of(sandbox.Text) != "text\n" || r.of(sandbox.Value) != "'value'" {
			s.Errorf("got %+v", r.outputs)
		}
	}},
	{"a value that cannot be shown is an exception", func(s *session) {
		s.raises("class R:\n    def __repr__(self): return 1/0\nR()", "ZeroDivisionError", "__repr__")
		s.alive()
	}},
}
