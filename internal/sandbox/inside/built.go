package inside

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// builtStep is no wall: it compares a view that somebody else built with the plan.
const builtStep = "view"

// compareView wants the view that an engine built to be the planned one: it found its sources
// by name, as root, and followed links. What may be made by anybody is made here. What
// is not as planned ends the start.
func compareView(p *plan.Plan) error {
	if !p.Built {
		return nil
	}
	for i := range p.Ops {
		op := &p.Ops[i]
		err := compare(op)
		if err == nil && op.Do == plan.DoTmpfs && op.Dst != "/dev" {
			err = nothingElse(string(op.Dst), p.Ops) // it is new, so it is our own
		}
		if err != nil {
			return fmt.Errorf("%s %q: %w", op.Do, string(op.Dst), err)
		}
	}
	return errors.Join(nothingElse("/", p.Ops), emptyDir("/sys"), readOnly("/sys"), emptyDir("/ringfence-link"))
}

func compare(op *plan.Op) error {
	at := string(op.Dst)
	switch op.Do {
	case plan.DoBind:
		return compareBind(op)
	case plan.DoFile:
		return compareFile(op)
	case plan.DoMask:
		return compareMask(op)
	case plan.DoDir:
		return makeDir(at, op.Mode)
	case plan.DoSymlink:
		return makeLink(string(op.Src), at)
	case plan.DoTmpfs:
		if at == "/dev" {
			return compareKind(at, unix.TMPFS_MAGIC, 0)
		}
		return compareKind(at, unix.TMPFS_MAGIC, op.Size)
	case plan.DoPts:
		return compareKind(at, unix.DEVPTS_SUPER_MAGIC, 0)
	case plan.DoProc:
		return errors.Join(compareKind(at, unix.PROC_SUPER_MAGIC, 0), readOnly(at))
	case plan.DoReadOnly:
		return readOnly(at)
	case plan.DoDevice:
		return compareDevice(at)
	}
	return errors.New("the engine cannot build that")
}

// compareBind wants the very inode that was judged, reached without a link.
func compareBind(op *plan.Op) error {
	fd, st, err := openJudged(op)
	if err != nil {
		return err
	}
	unix.Close(fd)
	if err := checkKind(op.Do, st.Mode); err != nil || op.Write {
		return err
	}
	return readOnly(string(op.Dst))
}

// openJudged opens what is at the place of an operation, without following a link: one that
// leads elsewhere now may lead back later.
func openJudged(op *plan.Op) (fd int, st unix.Stat_t, err error) {
	if op.ID == nil {
		return -1, st, errors.New("nobody has judged it")
	}
	if fd, err = sys.OpenSource(string(op.Dst)); err != nil {
		return -1, st, err
	}
	if err = unix.Fstat(fd, &st); err == nil && (st.Dev != op.ID.Dev || st.Ino != op.ID.Ino) {
		err = errors.New("is not the file that was meant: it was replaced meanwhile")
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, st, err
}

// compareFile wants the bytes of the plan, where nobody can change them.
func compareFile(op *plan.Op) error {
	fd, st, err := openJudged(op)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if mode := st.Mode & 0o7777; mode != op.Mode {
		return fmt.Errorf("has the mode %#o, not %#o", mode, op.Mode)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return err
	}
	if !bytes.Equal(b, op.Data) {
		return errors.New("has another content than was planned")
	}
	return readOnly(string(op.Dst))
}

// compareMask wants what hides a path, or nothing at all. In proc it is the engine's.
func compareMask(op *plan.Op) error {
	at := string(op.Dst)
	if strings.HasPrefix(at, "/proc/") {
		return compareCover(at)
	}
	if op.ID != nil {
		fd, _, err := openJudged(op)
		if err == nil {
			err = readOnly(at)
			unix.Close(fd)
		}
		return err
	}
	fd, err := sys.OpenSource(at)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return nil
	case err == nil:
		unix.Close(fd)
		err = errors.New("is there, and was not when the view was ordered")
	}
	return err
}

// compareCover wants nothing to be told by a name in proc.
func compareCover(at string) error {
	var st unix.Stat_t
	switch err := unix.Lstat(at, &st); {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return errors.Join(emptyDir(at), readOnly(at))
	case st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3):
		return nil
	}
	return errors.New("is not hidden")
}

func emptyDir(at string) error {
	names, err := os.ReadDir(at)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was removed where it came from
		return nil
	case err == nil && len(names) > 0:
		err = fmt.Errorf("has %q", names[0].Name())
	}
	return err
}

func makeDir(at string, mode uint32) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	return unix.Chmod(at, mode)
}

func makeLink(to, at string) error {
	is, err := os.Readlink(at)
	if errors.Is(err, unix.ENOENT) {
		return errors.Join(os.MkdirAll(path.Dir(at), 0o755), os.Symlink(to, at))
	}
	if err == nil && is != to && (at != "/etc/mtab" || is != "/proc/mounts") { // which an engine makes itself, and is the same
		err = fmt.Errorf("leads to %q, not to %q", is, to)
	}
	return err
}

// compareKind wants a mount of its own of a kind, and of a size at most.
func compareKind(at string, kind, size int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		return err
	}
	switch {
	case st.Type != kind:
		return fmt.Errorf("is of another kind: %x", st.Type)
	case size > 0 && int64(st.Blocks)*st.Bsize > size+int64(os.Getpagesize()):
		return fmt.Errorf("has room for %d bytes", int64(st.Blocks)*st.Bsize)
	}
	return nil
}

func compareDevice(at string) error {
	var st unix.Stat_t
	err := unix.Lstat(at, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFCHR {
		err = errors.New("is no device")
	}
	return err
}

func readOnly(at string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		return err
	}
	if st.Flags&unix.ST_RDONLY == 0 {
		return errors.New("can be written")
	}
	return nil
}

// engines are the names that an engine or the start of the container adds to a root. None
// tells anything: our own program, an empty directory, an empty file.
var engines = []string{"/.dockerenv", "/ringfence-container", "/ringfence-link", "/sys"}

// nothingElse wants no name in a directory that nobody planned.
func nothingElse(dir string, ops []plan.Op) error {
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		at := path.Join(dir, n.Name())
		if !slices.Contains(engines, at) && !slices.ContainsFunc(ops, func(o plan.Op) bool {
			return string(o.Dst) == at || strings.HasPrefix(string(o.Dst), at+"/")
		}) {
			return fmt.Errorf("%q has %q, which nobody planned", dir, n.Name())
		}
	}
	return nil
}
