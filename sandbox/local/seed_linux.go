package local

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/local/internal/jail"
)

// maxSeed bounds what a container may say that its caches are.
const maxSeed = 8 << 20

// seedCode has matplotlib, if it is there, list the fonts, which takes longer
// than all the rest of importing it. Nothing of a model's runs beside it.
const seedCode = `import base64, glob, importlib.util, json, os
files = {}
if importlib.util.find_spec("matplotlib"):
    import matplotlib.font_manager
    for path in glob.glob(os.environ["MPLCONFIGDIR"] + "/*.json"):
        files[path] = base64.b64encode(open(path, "rb").read()).decode()
print(json.dumps(files))`

// seed is a list of files that every new container gets a copy of.
//
// It is made once, in a container of its own, when the provider is first
// used; until it is there containers do without.
type seed struct {
	once  sync.Once
	mu    sync.Mutex
	files []seedFile
}

type seedFile struct {
	path string
	memo *os.File // in memory; read by launchers only
}

// get returns what there is, and starts making it.
func (s *seed) get(p *provider) []seedFile {
	s.once.Do(func() { go s.make(p) })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files
}

// make fills the seed. What fails here is only slower later.
func (s *seed) make(p *provider) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*probeTime)
	defer cancel()
	c, err := p.create(ctx, sandbox.Spec{ID: "seed"}, nil)
	if err != nil {
		return
	}
	defer c.Delete(context.WithoutCancel(ctx))
	var text strings.Builder
	result, err := c.Run(ctx, seedCode, func(out sandbox.Output) {
		if text.Len() < maxSeed {
			text.WriteString(out.Text)
		}
	})
	if err != nil || result.Outcome != sandbox.Completed {
		return
	}
	var listed map[string]string
	all := strings.TrimSpace(text.String())
	if json.Unmarshal([]byte(all[strings.LastIndexByte(all, '\n')+1:]), &listed) != nil {
		return
	}
	var files []seedFile
	for name, encoded := range listed {
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || path.Clean(name) != name || !strings.HasPrefix(name, jail.HomeDir+"/") {
			continue
		}
		if memo, err := inMemory(data); err == nil {
			files = append(files, seedFile{name, memo})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = files
}

// inMemory makes a file that has no name and that nobody can change.
func inMemory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("seed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "seed")
	if _, err = f.Write(data); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
