package jail

import (
	"fmt"
	"os"
	"sort"

	"golang.org/x/sys/unix"
)

// newRoot is where the new root is put together. Every system has the
// directory, nothing is bound from it by name after it is covered, and unlike
// /proc the kernel does not mind that it is (a /proc that is covered in part
// forbids a fresh one).
const newRoot = "/dev"

// mount is one step of building the root, at a path below it.
type mount struct {
	path  string
	apply func(target string) error
}

// buildRoot makes a root on a tmpfs that holds the binds, bounded writable
// directories, a fresh /proc and nothing else, and enters it.
func buildRoot(spec *Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	// All sources are opened before the first mount can cover one.
	mounts, err := openBinds(spec.Binds)
	if err != nil {
		return err
	}
	opts := fmt.Sprintf("%s,%s,mode=755,uid=%d,gid=%d", rootSize, rootInodes, UID, GID)
	if err := unix.Mount("root", newRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, opts); err != nil {
		return fmt.Errorf("mounting the new root: %w", err)
	}
	for _, t := range spec.Tmpfs {
		mounts = append(mounts, mount{t.Path, t.mount})
	}
	mounts = append(mounts, mount{"/proc", mountProc})
	// Parents first, so that what lies below is not covered.
	sort.SliceStable(mounts, func(i, j int) bool { return mounts[i].path < mounts[j].path })

	unix.Umask(0o022)
	if err := writeEtc(spec); err != nil {
		return err
	}
	for _, m := range mounts {
		if err := m.apply(newRoot + m.path); err != nil {
			return fmt.Errorf("mounting %s: %w", m.path, err)
		}
	}
	for _, l := range spec.Links {
		if err := symlink(l); err != nil {
			return fmt.Errorf("linking %s: %w", l.Path, err)
		}
	}
	for _, f := range spec.Files {
		if err := f.copy(); err != nil {
			return fmt.Errorf("copying %s: %w", f.Path, err)
		}
	}
	return enterRoot()
}

// enterRoot leaves the host's root for good: no mount of it stays reachable.
func enterRoot() error {
	if err := unix.Chdir(newRoot); err != nil {
		return fmt.Errorf("entering the new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detaching the old root: %w", err)
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, attr); err != nil {
		return fmt.Errorf("making the root read-only: %w", err)
	}
	return unix.Chdir(DataDir)
}

func openBinds(binds []Bind) ([]mount, error) {
	var mounts []mount
	for _, b := range binds {
		fd := b.FD
		if fd == 0 {
			var err error
			if fd, err = OpenTree(b); err != nil {
				return nil, fmt.Errorf("opening %s: %w", b.Path, err)
			}
		}
		mounts = append(mounts, mount{b.Path, func(target string) error { return attach(fd, target) }})
	}
	return mounts, nil
}

// OpenTree clones the mounts at and below a path, detached and read-only
// throughout: a file system that is mounted somewhere below is no way round.
// The host does it where it may, since only it can pass directories that are
// closed to others (an interpreter below /root); else the launcher does.
func OpenTree(b Bind) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, b.Path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return 0, err
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if b.Device {
		attr.Attr_set = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("making it read-only: %w", err)
	}
	return fd, nil
}

func attach(tree int, target string) error {
	defer unix.Close(tree)
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
	} else if err := touch(target, nil); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func (t Tmpfs) mount(target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	opts := fmt.Sprintf("size=%d,nr_inodes=%d,mode=%s,uid=%d,gid=%d", t.Size, t.Inodes, t.Mode, UID, GID)
	return unix.Mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, opts)
}

// hidden are files of /proc that tell of the host or act on it. The rest
// belongs to the container's own PID namespace or is the same for everybody.
var hidden = []string{"kcore", "keys", "key-users", "kmsg", "kallsyms", "timer_list", "sched_debug", "sysrq-trigger", "config.gz"}

// frozen are directories of /proc that can be written to by some users.
var frozen = []string{"sys", "irq", "bus", "fs"}

func mountProc(target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("proc", target, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	null := newRoot + "/dev/null"
	for _, name := range hidden {
		path := target + "/" + name
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := unix.Mount(null, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("hiding %s: %w", name, err)
		}
	}
	for _, name := range frozen {
		path := target + "/" + name
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("freezing %s: %w", name, err)
		}
		attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, attr); err != nil {
			return fmt.Errorf("freezing %s: %w", name, err)
		}
	}
	return nil
}
