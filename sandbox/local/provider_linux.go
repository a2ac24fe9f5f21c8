package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/local/internal/jail"
)

// provider makes the containers. Nothing of it ends with a configuration, and
// it holds nothing that would need to.
type provider struct {
	settings settings
	layout   layout
	spec     jail.Spec // of every container, but for its binds
	seed     seed
}

// provisioned are the providers that have passed their probe, by settings:
// reloading a configuration does not start Python again.
var provisioned = struct {
	sync.Mutex
	bySettings map[string]*provider
}{bySettings: make(map[string]*provider)}

func provision(ctx context.Context, s settings) (*provider, error) {
	key, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	provisioned.Lock()
	defer provisioned.Unlock()
	if p, ok := provisioned.bySettings[string(key)]; ok {
		return p, nil
	}
	py, err := lookAt(ctx, s.Python)
	if err != nil {
		return nil, err
	}
	p := newProvider(s, py)
	if err := p.probe(ctx); err != nil {
		return nil, fmt.Errorf("trying whether code can be isolated: %w", err)
	}
	provisioned.bySettings[string(key)] = p
	return p, nil
}

// Create starts a container.
func (l *Local) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Container, error) {
	c, err := l.jails.create(ctx, spec, l.jails.seed.get(l.jails))
	if err != nil {
		return nil, err // not a nil *container in an interface
	}
	return c, nil
}

// Bounds of the writable directories besides /mnt/data. Inodes are bounded as
// they take the kernel's memory, too (cases/sandbox.md 31 and 32).
const (
	tmpSize    = 256 << 20
	homeSize   = 64 << 20
	shmSize    = 128 << 20
	dataInodes = 32768
	tmpInodes  = 16384
	stackSize  = 8 << 20
	// initThreads is what the container's init adds to the processes that
	// are counted.
	initThreads = 12
)

func newProvider(s settings, py *python) *provider {
	p := &provider{settings: s, layout: layOut(py)}
	p.spec = jail.Spec{
		Hostname: "sandbox",
		Argv:     []string{py.Executable, "-s"},
		Env:      environment(py, s.Env),
		Links:    p.layout.links,
		Tmpfs: []jail.Tmpfs{
			{Path: jail.DataDir, Size: s.Disk, Inodes: dataInodes, Mode: "755"},
			{Path: jail.HomeDir, Size: homeSize, Inodes: tmpInodes, Mode: "700"},
			{Path: "/tmp", Size: tmpSize, Inodes: tmpInodes, Mode: "1777"},
			{Path: "/dev/shm", Size: shmSize, Inodes: tmpInodes, Mode: "1777"},
		},
		Limits: []jail.Limit{
			{Resource: unix.RLIMIT_AS, Max: uint64(s.Memory)},
			{Resource: unix.RLIMIT_NPROC, Max: uint64(s.Processes) + initThreads},
			{Resource: unix.RLIMIT_NOFILE, Max: uint64(s.OpenFiles)},
			{Resource: unix.RLIMIT_FSIZE, Max: uint64(max(s.Disk, tmpSize))},
			{Resource: unix.RLIMIT_STACK, Max: stackSize},
			{Resource: unix.RLIMIT_CORE, Max: 0},
			{Resource: unix.RLIMIT_MEMLOCK, Max: 64 << 10},
			{Resource: unix.RLIMIT_MSGQUEUE, Max: 0},
			{Resource: unix.RLIMIT_NICE, Max: 0},
			{Resource: unix.RLIMIT_RTPRIO, Max: 0},
		},
	}
	return p
}

// environment is all that the code finds in os.environ. It is made of nothing
// of Caddy's own (cases/sandbox.md 51).
func environment(py *python, extra map[string]string) []string {
	threads := strconv.Itoa(min(runtime.NumCPU(), 4))
	vars := map[string]string{
		"PATH":                 filepath.Dir(py.Executable) + ":/usr/local/bin:/usr/bin:/bin",
		"HOME":                 jail.HomeDir,
		"USER":                 "sandbox",
		"LOGNAME":              "sandbox",
		"SHELL":                "/bin/sh",
		"TMPDIR":               "/tmp",
		"LANG":                 "C.UTF-8",
		"TZ":                   "UTC",
		"TERM":                 "dumb",
		"MPLBACKEND":           "Agg",
		"MPLCONFIGDIR":         jail.HomeDir + "/.matplotlib",
		"OMP_NUM_THREADS":      threads,
		"OPENBLAS_NUM_THREADS": threads,
		"MKL_NUM_THREADS":      threads,
	}
	for name, value := range extra {
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	return env
}

// takeUser is the host's user that a container runs as: one of its own when
// Caddy is root, else Caddy's. free gives it back.
func (p *provider) takeUser() (uid, gid int, free func(), err error) {
	if os.Geteuid() != 0 {
		return os.Geteuid(), os.Getegid(), func() {}, nil
	}
	id, err := uids.take(p.settings.FirstUID, p.settings.UIDs)
	if err != nil {
		return 0, 0, nil, err
	}
	return int(id), int(id), func() { uids.free(id) }, nil
}
