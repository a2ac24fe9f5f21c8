package jail

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// writeEtc makes the few files that programs expect, none of them the host's.
// Name resolution ends at the hosts file, so that it fails at once and not
// after a time-out (cases/sandbox.md 52).
func writeEtc(spec *Spec) error {
	files := map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\n"+
			"sandbox:x:%d:%d:sandbox:%s:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n", UID, GID, HomeDir),
		"/etc/group":         fmt.Sprintf("root:x:0:\nsandbox:x:%d:\nnogroup:x:65534:\n", GID),
		"/etc/hosts":         "127.0.0.1 localhost " + spec.Hostname + "\n::1 localhost\n",
		"/etc/hostname":      spec.Hostname + "\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
		Runner:               string(RunnerSource),
	}
	for path, text := range files {
		if err := touch(newRoot+path, []byte(text)); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	links := []Link{
		{"/dev/fd", "/proc/self/fd"},
		{"/dev/stdin", "/proc/self/fd/0"},
		{"/dev/stdout", "/proc/self/fd/1"},
		{"/dev/stderr", "/proc/self/fd/2"},
		{"/etc/mtab", "/proc/self/mounts"},
		{"/etc/localtime", "/usr/share/zoneinfo/Etc/UTC"},
		{"/etc/os-release", "/usr/lib/os-release"},
	}
	for _, l := range links {
		if err := symlink(l); err != nil {
			return fmt.Errorf("linking %s: %w", l.Path, err)
		}
	}
	return nil
}

func touch(path string, text []byte) error {
	if err := os.MkdirAll(parent(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, runnerMode)
}

// copy reads with an offset of its own: other launchers have the same file.
func (f File) copy() error {
	path := newRoot + f.Path
	if err := os.MkdirAll(parent(path), 0o755); err != nil {
		return err
	}
	source := os.NewFile(uintptr(f.FD), f.Path)
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.NewSectionReader(source, 0, info.Size()))
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func symlink(l Link) error {
	path := newRoot + l.Path
	if err := os.MkdirAll(parent(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(l.Target, path)
}

// parent is filepath.Dir of an absolute path. Importing path/filepath would
// have the launcher wait for many more packages of Caddy's (see doc.go).
func parent(path string) string {
	return path[:strings.LastIndexByte(path, '/')]
}
