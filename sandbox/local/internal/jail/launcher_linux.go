package jail

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// init takes the process over when it was started as a launcher. It never
// returns then. A name that only Caddy gives is all it looks at: whoever can
// execute Caddy under that name gains nothing that he did not have.
func init() {
	if len(os.Args) != 1 || os.Args[0] != Arg0 {
		return
	}
	// Privileges belong to a thread, and Python inherits this one's.
	runtime.LockOSThread()
	launch()
}

func launch() {
	python, err := setUp()
	if err != nil {
		_, _ = unix.Write(ControlFD, []byte(MsgFailed+err.Error()))
		os.Exit(1)
	}
	serve(python)
}

// setUp turns the process into the init of a container and starts Python. The
// order matters: mounts need the privileges that are dropped before Python
// starts.
func setUp() (int, error) {
	spec, err := readSpec()
	if err != nil {
		return 0, fmt.Errorf("reading the container's spec: %w", err)
	}
	// Python gets none of these, nor what Caddy inherited from its parent.
	if err := unix.CloseRange(ControlFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, fmt.Errorf("closing inherited descriptors: %w", err)
	}
	// The kernel shall choose a sandbox before Caddy when memory is short.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("800"), 0)

	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return 0, fmt.Errorf("setting the host name: %w", err)
	}
	if err := raiseLoopback(); err != nil {
		return 0, fmt.Errorf("bringing up the loopback device: %w", err)
	}
	if err := buildRoot(spec); err != nil {
		return 0, err
	}
	if err := dropPrivileges(); err != nil {
		return 0, err
	}
	return startPython(spec)
}

func readSpec() (*Spec, error) {
	buf := make([]byte, MaxMessage)
	n, err := unix.Read(ControlFD, buf)
	if err != nil {
		return nil, err
	}
	spec := new(Spec)
	return spec, json.Unmarshal(buf[:n], spec)
}

// raiseLoopback makes 127.0.0.1 usable, for servers that the code starts for
// itself. It is the only device of the container's network.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}
