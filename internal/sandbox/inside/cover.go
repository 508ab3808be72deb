package inside

import (
	"errors"
	"fmt"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// coversAt is where empty files lie that hide those of a source. Their names are no secret to
// who is shown the source.
const coversAt = "/.cover"

// cover attaches a source of the host below a directory with empty files: an overlay of nothing
// but lower directories, which nobody can write to, however it is mounted. It hides by name, so
// that a file which the host saves anew stays hidden; a mount on the file would fall off with
// it. Sockets and pipes of the host are others behind an overlay, and nobody answers there.
// What is mounted below the source does not come along: in a user namespace the kernel refuses
// a source with such a mount.
func (v *view) cover(op *plan.Op) error {
	src, err := sys.OpenSource(string(op.Src))
	if err != nil {
		return err
	}
	defer unix.Close(src)
	if err := judged(src, op); err != nil {
		return err
	}
	v.count++
	at := path.Join(coversAt, strconv.Itoa(v.count))
	for _, name := range op.Hide {
		if err := v.hideName(at, string(name)); err != nil {
			return fmt.Errorf("hide %q: %w", string(name), err)
		}
	}
	top, err := v.mkdir(at, 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(top)
	dst, err := v.mkdir(string(op.Dst), 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	lower := fmt.Sprintf("/proc/self/fd/%d:/proc/self/fd/%d", top, src)
	m, err := sys.NewMount("overlay", quietAttr|unix.MOUNT_ATTR_RDONLY, sys.Option{Key: "userxattr"}, sys.Option{Key: "lowerdir", Value: lower})
	if err != nil {
		return err
	}
	defer unix.Close(m)
	return sys.Attach(m, dst)
}

// judged wants a directory to be the one that policy meant.
func judged(fd int, op *plan.Op) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return errors.New("source is not a directory")
	}
	if op.ID != nil && (st.Dev != op.ID.Dev || st.Ino != op.ID.Ino) {
		return fmt.Errorf("%q is not the directory that policy judged: it was replaced meanwhile", string(op.Src))
	}
	return nil
}

// hideName makes an empty file, and the directories above it, in the root of our own.
func (v *view) hideName(at, name string) error {
	parent, err := v.mkdir(path.Join(at, path.Dir(name)), 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	if err := v.mayCreate(parent); err != nil {
		return err
	}
	return unix.Mknodat(parent, path.Base(name), unix.S_IFREG|0o444, 0)
}
