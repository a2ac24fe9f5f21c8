package jail

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// AmbientCaps are what the launcher needs to build its root; they count only
// inside the container's own namespaces. They come as ambient capabilities,
// so that the launcher need not be root even there.
var AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

// dropPrivileges leaves the container's processes with none: neither the set
// that is in force, nor one that a later exec could bring back, nor a system
// call that would lead to others.
func dropPrivileges() error {
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_SETPCAP {
			break // beyond the last capability of this kernel
		}
		if err != nil {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing ambient capabilities: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	// Code that runs as the same user shall not write to init's memory.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protecting init: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	if err := filterSyscalls(); err != nil {
		return fmt.Errorf("filtering system calls: %w", err)
	}
	return nil
}

// dropCapabilities empties the sets of all threads. A binary with cgo can do
// so only for the calling thread, which is the one that Python inherits from;
// the others are then kept apart by PR_SET_DUMPABLE.
func dropCapabilities() error {
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno == syscall.ENOTSUP {
		return unix.Capset(header, &data[0])
	}
	if errno != 0 {
		return errno
	}
	return nil
}
