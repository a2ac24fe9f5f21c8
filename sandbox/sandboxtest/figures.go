package sandboxtest

import (
	"bytes"
	"image/png"
	"strings"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

const remedy = "the tests need numpy, pandas, matplotlib and Pillow for the interpreter that CODE_PYTHON names; see `make test`"

// needs fails a test whose packages are missing.
func (s *session) needs(packages ...string) {
	s.Helper()
	for _, p := range packages {
		if r := s.run("import " + p); r.Outcome != sandbox.Completed {
			s.Fatalf("importing %s: %s\n%s", p, r.Detail, remedy)
		}
	}
}

var figureTests = []test{
	{"figures are shown where plt.show is", func(s *session) {
		s.needs("matplotlib")
		s.prints("import matplotlib.pyplot as plt\nprint('a')\nl = plt.plot([1, 2])\nplt.show()\nprint('b')", "a\n<image/png>b\n")
		s.prints("plt.figure(); plt.figure(); print('c')\nplt.show(); print('d')", "c\n<image/png><image/png>d\n")
	}},
	{"open figures are shown at the end, once", func(s *session) {
		s.needs("matplotlib")
		s.prints("import matplotlib.pyplot as plt\nl = plt.plot([1, 2])\nprint('a')", "a\n<image/png>")
		s.prints("1", "1")
		r := s.run("plt.figure()\n1/0")
		if r.Outcome != sandbox.Raised || !strings.Contains(r.all(), "<image/png>") {
			s.Errorf("got %+v %q", r.Result, r.all())
		}
		s.prints("plt.figure(); plt.close()", "")
	}},
	{"any way to select the backend keeps plt.show", func(s *session) {
		s.needs("matplotlib")
		s.prints("import matplotlib\nmatplotlib.use('Agg')\nfrom matplotlib import pyplot as plt\nl = plt.plot([1])\nplt.show()\nprint('b')", "<image/png>b\n")
		s.prints("from matplotlib.pyplot import show\nfig, ax = plt.subplots(); fig.show(); show()", "<image/png>")
	}},
	{"images are PNG of the figure's size", func(s *session) {
		s.needs("matplotlib")
		r := s.run("import matplotlib.pyplot as plt\nf = plt.figure(figsize=(4, 3))\nplt.plot([1, 2])\nNone")
		for _, out := range r.outputs {
			if out.Kind != sandbox.Image {
				continue
			}
			img, err := png.Decode(bytes.NewReader(out.Data))
			if err != nil || img.Bounds().Dx() < 200 {
				s.Errorf("got %v, %v", img, err)
			}
			return
		}
		s.Errorf("got no image: %q", r.all())
	}},
	{"their number and size are bounded", func(s *session) { // cases/sandbox.md 44
		s.needs("matplotlib", "numpy")
		s.ok("import matplotlib\nmatplotlib.rcParams['figure.max_open_warning'] = 0")
		r := s.run("import matplotlib.pyplot as plt\nfor i in range(40): f = plt.figure(figsize=(1, 1))")
		if n := strings.Count(r.all(), "<image/png>"); n == 0 || n > 20 {
			s.Errorf("got %d images", n)
		}
		size := 0
		r = s.run("f = plt.figure(figsize=(200, 200), dpi=100); f.figimage(__import__('numpy').random.rand(500, 500))")
		for _, out := range r.outputs {
			size += len(out.Data)
		}
		if size > 16<<20 {
			s.Errorf("got %d bytes", size)
		}
		s.alive()
	}},
	{"pictures as the last value are shown", func(s *session) {
		s.needs("PIL.Image")
		s.prints("from PIL import Image\nImage.new('RGB', (8, 8))", "<image/png>")
		s.prints("class P:\n    def _repr_png_(self): return b'\\x89PNG'\nP()", "<image/png>")
		s.prints("display(P()); print('after')", "<image/png>after\n")
	}},
	{"matplotlib is not imported unless the code does", func(s *session) {
		s.prints("1", "1")
		s.prints("import sys; [m for m in sys.modules if m.startswith('matplotlib')]", "[]")
	}},
}

var packageTests = []test{
	{"the usual packages work", func(s *session) { // cases/sandbox.md 66
		s.needs("numpy", "pandas", "matplotlib", "PIL")
		s.prints("import numpy as np\nfloat((np.ones((300, 300)) @ np.ones((300, 300)))[0, 0])", "300.0")
		s.prints("import pandas as pd\npd.DataFrame({'a': [1, 2]})", "   a\n0  1\n1  2")
		s.prints("pd.DataFrame({'a': [1]}).to_csv('/mnt/data/f.csv', index=False)\nopen('f.csv').read()", `'a\n1\n'`)
	}},
	{"the standard library works", func(s *session) { // cases/sandbox.md 66
		s.prints("import sqlite3; sqlite3.connect('/mnt/data/db').execute('select 1').fetchone()", "(1,)")
		s.prints("import ssl, ctypes, asyncio, locale, tempfile, uuid, zoneinfo\ntempfile.TemporaryFile().close()\nbool(uuid.uuid4())", "True")
		s.prints("import getpass, socket, os\nbool(getpass.getuser()) and bool(socket.gethostname()) and os.cpu_count() > 0", "True")
		s.prints("import hashlib, os\nlen(os.urandom(8)), len(hashlib.sha256(b'').hexdigest())", "(8, 64)")
	}},
	{"the clock is right and the zone is UTC", func(s *session) { // cases/sandbox.md 10
		s.prints("import time; time.tzname[0], time.time() > 1.7e9", "('UTC', True)")
	}},
}
