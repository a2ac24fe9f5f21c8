package jail

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var deniedOnArch = []uint32{unix.SYS_MEMFD_SECRET, unix.SYS_KEXEC_FILE_LOAD}
