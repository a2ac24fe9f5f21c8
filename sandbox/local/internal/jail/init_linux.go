package jail

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// startPython starts the runner with the standard descriptors and its channel
// and nothing else. Its limits are set from outside: it runs no code of the
// model's before the host has heard that they hold.
func startPython(spec *Spec) (int, error) {
	// Inside, Python's channel has the number of init's control socket.
	attr := &syscall.ProcAttr{
		Dir:   DataDir,
		Env:   spec.Env,
		Files: []uintptr{0, 1, 2, ChannelFD},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	argv := append(append([]string(nil), spec.Argv...), Runner)
	// Handlers become defaults when Python is started; ignored signals
	// would stay ignored. Code inside can send any signal to init, and only
	// those with a handler arrive, which does nothing.
	signal.Notify(make(chan os.Signal, 1))
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	for _, l := range spec.Limits {
		limit := &unix.Rlimit{Cur: l.Max, Max: l.Max}
		if err := unix.Prlimit(pid, l.Resource, limit, nil); err != nil {
			return 0, fmt.Errorf("setting limit %d: %w", l.Resource, err)
		}
	}
	unix.Close(ChannelFD)
	return pid, nil
}

// serve is what the container's init does: it reaps whatever ends, sends the
// interrupts that the host asks for, and ends when the runner has ended or
// when the host's end of the control socket is closed, as when Caddy was
// killed. With the init the kernel ends every process of its PID namespace.
func serve(python int) {
	go func() {
		reap(python)
		os.Exit(0)
	}()
	send(MsgReady)
	buf := make([]byte, 64)
	for {
		n, err := unix.Read(ControlFD, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			os.Exit(0)
		}
		if string(buf[:n]) == MsgInterrupt {
			// As a terminal does: to the commands, too, that it waits
			// for. os.system ignores the signal meanwhile.
			_ = unix.Kill(-python, unix.SIGINT)
			send(MsgDone)
		}
	}
}

// reap returns when the runner has ended.
func reap(python int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		if pid == python && (status.Exited() || status.Signaled()) {
			send(MsgExit + strconv.Itoa(int(status)))
			return
		}
	}
}

func send(msg string) {
	_, _ = unix.Write(ControlFD, []byte(msg))
}
