package local

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox/local/internal/jail"
)

// ends are the container's ends of what connects it with Caddy.
type ends struct {
	control, channel, boot *os.File
	trees                  []*os.File
	shared                 []*os.File // not the container's alone
}

// pass hands a file to the launcher, and returns its descriptor there.
func (e *ends) pass(f *os.File) int {
	e.shared = append(e.shared, f)
	return jail.FirstBind + len(e.trees) + len(e.shared) - 1
}

// files are what the launcher gets besides its standard descriptors.
func (e *ends) files() []*os.File {
	return slices.Concat([]*os.File{e.control, e.channel}, e.trees, e.shared)
}

func (e *ends) close() {
	for _, f := range append(e.trees, e.control, e.channel, e.boot) {
		if f != nil {
			f.Close()
		}
	}
}

// connect opens the sockets of a container and the pipe for what goes wrong
// while it starts. What it leaves in c on an error, c.close closes.
func (c *container) connect() (*ends, error) {
	e := new(ends)
	var err error
	if c.boot, e.boot, err = os.Pipe(); err != nil {
		return e, err
	}
	if c.control, e.control, err = socketpair(unix.SOCK_SEQPACKET); err != nil {
		return e, err
	}
	var channel *os.File
	if channel, e.channel, err = socketpair(unix.SOCK_STREAM); err != nil {
		return e, err
	}
	defer channel.Close()
	conn, err := net.FileConn(channel)
	if err != nil {
		return e, err
	}
	c.channel = conn.(*net.UnixConn)
	return e, nil
}

func socketpair(kind int) (host, inside *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "host"), os.NewFile(uintptr(fds[1]), "inside"), nil
}

// openBinds opens for the launcher what only root can reach. Without the
// privilege to do so the launcher opens it itself.
func openBinds(binds []jail.Bind, e *ends) ([]jail.Bind, error) {
	opened := make([]jail.Bind, 0, len(binds))
	for _, b := range binds {
		if os.Geteuid() == 0 {
			fd, err := jail.OpenTree(b)
			if err == nil {
				b.FD = jail.FirstBind + len(e.trees)
				e.trees = append(e.trees, os.NewFile(uintptr(fd), b.Path))
			} else if err != unix.EPERM {
				return nil, fmt.Errorf("opening %s: %w", b.Path, err)
			}
		}
		opened = append(opened, b)
	}
	return opened, nil
}

// command is Caddy itself as a launcher, in new namespaces from its start.
func command(e *ends, uid, gid int) *exec.Cmd {
	root := os.Geteuid() == 0
	return &exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       []string{jail.Arg0},
		Env:        []string{"GOMAXPROCS=2"},
		Dir:        "/",
		Stdout:     e.boot,
		Stderr:     e.boot,
		ExtraFiles: e.files(),
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
				unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
			UidMappings:                []syscall.SysProcIDMap{{ContainerID: jail.UID, HostID: uid, Size: 1}},
			GidMappings:                []syscall.SysProcIDMap{{ContainerID: jail.GID, HostID: gid, Size: 1}},
			GidMappingsEnableSetgroups: root,
			// Only root may, and must, give its other groups away.
			Credential:  &syscall.Credential{Uid: jail.UID, Gid: jail.GID, NoSetGroups: !root},
			AmbientCaps: jail.AmbientCaps,
			Setsid:      true,
			Pdeathsig:   syscall.SIGKILL,
		},
	}
}

// starter starts processes on one thread that lives as long as Caddy: the
// kernel sends Pdeathsig when the thread that started a process ends, and Go
// ends threads now and then.
var starter = sync.OnceValue(func() chan<- startJob {
	jobs := make(chan startJob)
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job.done <- job.cmd.Start()
		}
	}()
	return jobs
})

type startJob struct {
	cmd  *exec.Cmd
	done chan error
}

func start(cmd *exec.Cmd) error {
	job := startJob{cmd, make(chan error, 1)}
	starter() <- job
	return <-job.done
}
