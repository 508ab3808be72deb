// Package sys wraps the few Linux calls that ringfence needs beyond the standard
// library, thinly and without policy words. Mounts are made by descriptor only:
// no path is looked up twice between judging it and attaching it.
package sys

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenSource opens path once as an O_PATH descriptor. No link of any kind is
// followed: an agent of an earlier session may have written any part of it.
func OpenSource(path string) (int, error) {
	fd, err := Open(unix.AT_FDCWD, path, unix.O_PATH, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return -1, fmt.Errorf("open %q: %w", path, err)
	}
	return fd, nil
}

// OpenBeneath opens rel below dir without following any link: what it returns
// is under dir whatever an adversary does to the tree meanwhile.
func OpenBeneath(dir int, rel string) (int, error) {
	return OpenAt(dir, rel, unix.O_PATH|unix.O_NOFOLLOW)
}

// OpenAt does the same with other flags.
func OpenAt(dir int, rel string, flags int) (int, error) {
	if rel == "" {
		rel = "."
	}
	return Open(dir, rel, flags, Beneath)
}

// Beneath keeps a path under the directory where it starts, and follows no link.
const Beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS

// maxTries: somebody who keeps renaming must not keep us.
const maxTries = 64

// Open is openat2(2), tried again when something was renamed meanwhile.
func Open(at int, path string, flags int, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	for range maxTries {
		if fd, err = unix.Openat2(at, path, &how); err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
	return -1, err
}

// CloneTree makes a detached copy of the mount tree at fd. It is recursive: in a
// user namespace mounts below are locked and could not be left out anyway.
func CloneTree(fd int) (int, error) {
	t, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|
		unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	return t, nil
}

// Restrict adds mount attributes to the whole tree at fd and cuts it off from
// mount events of the host.
func Restrict(fd int, attr uint64) error {
	err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE})
	if err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	return nil
}

// Attach moves the detached tree onto the directory or file behind dst.
func Attach(tree, dst int) error {
	err := unix.MoveMount(tree, "", dst, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// Option is one parameter of a new filesystem; an empty Value is a bare flag.
type Option struct{ Key, Value string }

// NewMount makes a detached mount of a new filesystem.
func NewMount(fstype string, attr int, options ...Option) (int, error) {
	fs, err := unix.Fsopen(fstype, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fsopen %s: %w", fstype, err)
	}
	defer unix.Close(fs)
	for _, o := range options {
		if o.Value == "" {
			err = unix.FsconfigSetFlag(fs, o.Key)
		} else {
			err = unix.FsconfigSetString(fs, o.Key, o.Value)
		}
		if err != nil {
			return -1, fmt.Errorf("fsconfig %s %s=%s: %w", fstype, o.Key, o.Value, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("create %s: %w", fstype, err)
	}
	m, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return -1, fmt.Errorf("fsmount %s: %w", fstype, err)
	}
	return m, nil
}

// LastCap reads the highest capability that the kernel knows.
func LastCap(proc []byte) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(string(proc)))
	if err != nil || n < 0 || n > 63 {
		return 0, fmt.Errorf("cap_last_cap %q is not a capability number", proc)
	}
	return n, nil
}
