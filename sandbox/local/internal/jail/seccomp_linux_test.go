package jail

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Package sandboxtest attempts these calls in a container. Here are those that
// Python cannot make, and what the filter says of calls that work anyway.
func TestFilter(t *testing.T) {
	vm, err := bpf.NewVM(program())
	if err != nil {
		t.Fatal(err)
	}
	const i386 = unix.AUDIT_ARCH_I386
	const allow = uint32(unix.SECCOMP_RET_ALLOW)
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	for _, tt := range []struct {
		name   string
		arch   uint32
		number uint32
		args   []uint32
		want   uint32
	}{
		{"read", auditArch, unix.SYS_READ, nil, allow},
		{"a call of another architecture", i386, unix.SYS_READ, nil, errno(unix.ENOSYS)},
		{"the newest known call", auditArch, lastKnown - 1, nil, allow},
		{"a call that is too new", auditArch, lastKnown + 1, nil, errno(unix.ENOSYS)},
		{"a call of x32", auditArch, 0x40000000, nil, errno(unix.ENOSYS)},
		{"a negative number", auditArch, 0xffffffff, nil, errno(unix.ENOSYS)},
		{"clone3", auditArch, unix.SYS_CLONE3, nil, errno(unix.ENOSYS)},
		{"mount", auditArch, unix.SYS_MOUNT, nil, errno(unix.EPERM)},
		{"clone of a thread", auditArch, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD}, allow},
		{"clone with one namespace", auditArch, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_NEWNET}, errno(unix.EPERM)},
		{"unshare of files", auditArch, unix.SYS_UNSHARE, []uint32{unix.CLONE_FILES}, allow},
		{"unshare of users", auditArch, unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWUSER}, errno(unix.EPERM)},
		{"a socket of IPv6", auditArch, unix.SYS_SOCKET, []uint32{unix.AF_INET6}, allow},
		{"a Unix socket", auditArch, unix.SYS_SOCKET, []uint32{unix.AF_UNIX}, allow},
		{"a netlink socket", auditArch, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK}, errno(unix.EAFNOSUPPORT)},
		{"a pair of Unix sockets", auditArch, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX}, allow},
		{"a pair of other sockets", auditArch, unix.SYS_SOCKETPAIR, []uint32{unix.AF_TIPC}, errno(unix.EAFNOSUPPORT)},
		{"ioctl", auditArch, unix.SYS_IOCTL, []uint32{1, unix.TIOCGWINSZ}, allow},
		{"typing into a terminal", auditArch, unix.SYS_IOCTL, []uint32{1, unix.TIOCSTI}, errno(unix.EPERM)},
		{"pasting into a console", auditArch, unix.SYS_IOCTL, []uint32{1, unix.TIOCLINUX}, errno(unix.EPERM)},
		{"a call after one that is looked at", auditArch, unix.SYS_GETPID, []uint32{unix.CLONE_NEWUSER}, allow},
	} {
		// The VM is big-endian, where the kernel has the machine's order.
		data := binary.BigEndian.AppendUint32(nil, tt.number)
		data = binary.BigEndian.AppendUint32(data, tt.arch)
		data = append(data, make([]byte, 8+6*8)...)
		for i, a := range tt.args {
			binary.BigEndian.PutUint32(data[offArgs+8*i:], a)
		}
		got, err := vm.Run(data)
		if err != nil || uint32(got) != tt.want {
			t.Errorf("%s: got %#x, %v, want %#x", tt.name, got, err, tt.want)
		}
	}
}
