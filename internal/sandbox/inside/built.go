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
		if err := compare(op); err != nil {
			return fmt.Errorf("%s %q: %w", op.Do, string(op.Dst), err)
		}
	}
	return nothingElse(p.Ops)
}

func compare(op *plan.Op) error {
	at := string(op.Dst)
	switch op.Do {
	case plan.DoBind:
		return compareBind(op)
	case plan.DoFile:
		return compareFile(op)
	case plan.DoMask:
		return compareMask(at)
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
	if op.ID == nil {
		return errors.New("nobody has judged it")
	}
	fd, err := sys.OpenSource(string(op.Dst))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Dev != op.ID.Dev || st.Ino != op.ID.Ino {
		return errors.New("is not the file that policy judged: it was replaced meanwhile")
	}
	if err := checkKind(op.Do, st.Mode); err != nil || op.Write {
		return err
	}
	return readOnly(string(op.Dst))
}

// compareFile wants the bytes of the plan, where nobody can change them.
func compareFile(op *plan.Op) error {
	fd, err := sys.OpenSource(string(op.Dst))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return err
	}
	if !bytes.Equal(b, op.Data) {
		return errors.New("has another content than was planned")
	}
	return readOnly(string(op.Dst))
}

// compareMask wants nothing to be seen there.
func compareMask(at string) error {
	var st unix.Stat_t
	err := unix.Lstat(at, &st)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return errors.Join(emptyDir(at), readOnly(at))
	case unix.S_IFREG:
		if st.Size == 0 && !file0(at) {
			return readOnly(at)
		}
	case unix.S_IFCHR:
		if st.Rdev == unix.Mkdev(1, 3) { // so an engine hides a file of proc
			return nil
		}
	}
	return errors.New("is not hidden")
}

// file0 says whether a byte can be read from a file: those of proc have no size.
func file0(at string) bool {
	fd, err := unix.Open(at, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, make([]byte, 1))
	return err == nil && n > 0
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
var engines = []string{".dockerenv", "ringfence-container", "ringfence-link", "sys"}

// nothingElse wants no name in the root that nobody planned, and nothing of the machine in /sys.
func nothingElse(ops []plan.Op) error {
	planned := slices.Clone(engines)
	for _, op := range ops {
		top, _, _ := strings.Cut(strings.TrimPrefix(string(op.Dst), "/"), "/")
		planned = append(planned, top)
	}
	names, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, n := range names {
		if !slices.Contains(planned, n.Name()) {
			return fmt.Errorf("the root has %q, which nobody planned", n.Name())
		}
	}
	return errors.Join(emptyDir("/sys"), readOnly("/sys"), emptyDir("/ringfence-link"))
}
