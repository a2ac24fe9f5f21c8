package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeinterp/caddy-code-interpreter/sandbox/local/internal/jail"
)

// shared are what programs need whatever the interpreter is: libraries, a
// shell, fonts, time zones. Directories of the host's configuration are shown
// only where a distribution spreads its packages over them.
var shared = []string{
	"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share",
	"/usr/local/bin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/share",
	"/bin", "/sbin", "/lib", "/lib32", "/lib64",
	"/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/matplotlibrc", "/etc/mime.types",
	"/etc/python*", "/nix/store", "/gnu/store",
}

// devices are all the devices that a container has.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// own are directories that a container has of its own: nothing of the host
// is shown as one of them or above them.
var own = []string{"/proc", "/dev", "/sys", "/etc", "/tmp", "/run", "/usr", "/usr/local", "/var", jail.DataDir, jail.HomeDir}

// layout is what of the host's files is shown.
type layout struct {
	binds []jail.Bind
	links []jail.Link
}

// layOut lists what an interpreter needs, at the paths at which it has it.
func layOut(p *python) layout {
	var l layout
	for _, pattern := range shared {
		paths, _ := filepath.Glob(pattern) // the patterns are valid
		for _, path := range paths {
			l.add(path)
		}
	}
	prefixes := slices.Clone(p.Prefixes)
	slices.Sort(prefixes) // parents first
	for _, prefix := range prefixes {
		l.add(prefix)
		if real, err := filepath.EvalSymlinks(prefix); err == nil {
			l.add(real)
		}
	}
	l.addExecutable(p.Executable)
	for _, path := range devices {
		l.binds = append(l.binds, jail.Bind{Path: path, Device: true})
	}
	return l
}

// add shows a path unless it is shown already.
func (l *layout) add(path string) {
	path = filepath.Clean(path)
	for _, dir := range own {
		if path == dir || strings.HasPrefix(dir, path+"/") {
			return
		}
	}
	if l.covers(path) {
		return
	}
	if target, err := os.Readlink(path); err == nil {
		l.links = append(l.links, jail.Link{Path: path, Target: target})
		return
	}
	if _, err := os.Stat(path); err == nil {
		l.binds = append(l.binds, jail.Bind{Path: path})
	}
}

// addExecutable shows the way from the interpreter's name to its file: a
// virtual environment has only a link, which may lead over others.
func (l *layout) addExecutable(path string) {
	for range 40 {
		l.add(filepath.Clean(path))
		target, err := os.Readlink(path)
		if err != nil {
			return
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
}

func (l *layout) covers(path string) bool {
	for _, b := range l.binds {
		if path == b.Path || strings.HasPrefix(path, b.Path+"/") {
			return true
		}
	}
	for _, link := range l.links {
		if path == link.Path {
			return true
		}
	}
	return false
}
