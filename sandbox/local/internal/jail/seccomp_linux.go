package jail

import (
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data; args are little-endian on both
// architectures, so the low half of an argument comes first.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// namespaceFlags are the flags of clone and unshare that make namespaces.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// families are the address families that sockets may have. All of them stay
// within the container's own network.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// program makes the filter. Calls that reach deep into the kernel, or that
// could lead to new privileges, fail with an error that programs know how to
// handle; nothing is ever killed, as libraries try calls just to see whether
// they are there (cases/sandbox.md 55).
func program() []bpf.Instruction {
	p := []bpf.Instruction{
		// Another architecture's numbering (32-bit calls) is no way round.
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		fail(unix.ENOSYS),
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		// Nor are calls that are newer than this list, or x32's.
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: lastKnown, SkipTrue: 1},
		fail(unix.ENOSYS),
	}
	// glibc falls back to clone, whose flags can be looked at.
	p = append(p, deny(unix.ENOSYS, unix.SYS_CLONE3)...)
	p = append(p, deny(unix.ENOSYS, absent...)...)
	p = append(p, deny(unix.EPERM, denied...)...)
	p = append(p, deny(unix.EPERM, deniedOnArch...)...)

	newNamespace := []bpf.Instruction{
		arg(0),
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: namespaceFlags, SkipTrue: 1},
		fail(unix.EPERM),
	}
	p = append(p, check(unix.SYS_CLONE, newNamespace)...)
	p = append(p, check(unix.SYS_UNSHARE, newNamespace)...)
	p = append(p, check(unix.SYS_SOCKET, onlyFamilies(families...))...)
	p = append(p, check(unix.SYS_SOCKETPAIR, onlyFamilies(unix.AF_UNIX))...)
	// Typing into a terminal that somebody else reads.
	p = append(p, check(unix.SYS_IOCTL, []bpf.Instruction{
		arg(1),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCLINUX, SkipTrue: 1},
		fail(unix.EPERM),
	})...)
	return append(p, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

func filterSyscalls() error {
	raw, err := bpf.Assemble(program())
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// All threads of init at once, not only this one.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}

func fail(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func arg(n uint32) bpf.Instruction {
	return bpf.LoadAbsolute{Off: offArgs + 8*n, Size: 4}
}

func deny(errno unix.Errno, numbers ...uint32) (p []bpf.Instruction) {
	for _, n := range numbers {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: n, SkipTrue: 1}, fail(errno))
	}
	return p
}

// check runs body for one system call and goes on with the others after it.
func check(number uint32, body []bpf.Instruction) []bpf.Instruction {
	p := []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(body)) + 1}}
	p = append(p, body...)
	return append(p, bpf.LoadAbsolute{Off: offNumber, Size: 4})
}

func onlyFamilies(allowed ...uint32) []bpf.Instruction {
	p := []bpf.Instruction{arg(0)}
	for i, f := range allowed {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: f, SkipTrue: uint8(len(allowed) - i)})
	}
	return append(p, fail(unix.EAFNOSUPPORT))
}
