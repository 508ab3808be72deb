package inside

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// view is the new root under construction. Nothing of the host is in it but what
// an operation put there.
type view struct {
	root  int             // the new root
	dev   uint64          // st_dev of the new root
	own   map[uint64]bool // st_dev of every tmpfs we made: the only places where we create names
	count int             // generated files placed by mount

	layers map[plan.Raw]int // mounts of layers, which the keeper reaches by descriptor
}

const (
	rootSize  = "16m" // names, symlinks and generated files only
	quietAttr = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// buildView makes the new root, applies every operation in order and enters it.
func buildView(p *plan.Plan) (layers []int, err error) {
	// In a fresh user namespace the copy of the host's mounts is already a slave;
	// private as well, so that nothing mounted later on the host appears here.
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}
	v, err := newRoot()
	if err != nil {
		return nil, err
	}
	for i := range p.Ops {
		err := v.apply(&p.Ops[i])
		var none *noOverlay
		if errors.As(err, &none) && strings.HasPrefix(string(p.Ops[i].Dst), plan.Own+"/") {
			continue // the keeper then refuses what it would hold, and says so
		}
		if err != nil {
			return nil, &step{stepOf(p.Ops[i].Do, none), fmt.Errorf("%s %q: %w", p.Ops[i].Do, string(p.Ops[i].Dst), err)}
		}
	}
	for _, t := range p.Trees {
		fd, ok := v.layers[t.Layer]
		if !ok {
			fd = -1
		}
		layers = append(layers, fd)
	}
	return layers, v.enter()
}

// stepOf tells what the host would not do from what is wrong with one source. A source that
// was replaced is no lack of overlayfs: without one the supervisor would copy it.
func stepOf(do plan.Do, none *noOverlay) string {
	switch {
	case do == plan.DoProc:
		return "proc"
	case do == plan.DoPts:
		return "devpts"
	case none != nil:
		return "layer"
	case do == plan.DoTmpfs, do == plan.DoReadOnly:
		return string(plan.WallMount)
	}
	return "view"
}

// newRoot mounts the new root over "/": absolute names of the host still resolve,
// because our root directory is the one below, and no directory of the host is
// needed as a mount point. (A ".." up to "/" would arrive in the new root; no
// source holds one.)
func newRoot() (*view, error) {
	m, err := sys.NewMount("tmpfs", quietAttr, sys.Option{Key: "mode", Value: "0755"}, sys.Option{Key: "size", Value: rootSize})
	if err != nil {
		return nil, fmt.Errorf("new root: %w", err)
	}
	at, err := sys.OpenSource("/")
	if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	if err := sys.Attach(m, at); err != nil {
		return nil, fmt.Errorf("new root: %w", err)
	}
	v := &view{root: m, own: map[uint64]bool{}}
	v.dev, err = device(m)
	if err != nil {
		return nil, err
	}
	v.own[v.dev] = true
	return v, nil
}

// enter swaps the roots and drops the old one with everything below it.
func (v *view) enter() error {
	if err := unix.Fchdir(v.root); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	return unix.Close(v.root)
}

func (v *view) apply(op *plan.Op) error {
	switch op.Do {
	case plan.DoDir:
		return v.closing(v.mkdir(string(op.Dst), op.Mode))
	case plan.DoTmpfs:
		return v.tmpfs(op)
	case plan.DoBind:
		return v.bind(op, quietAttr)
	case plan.DoLayer:
		return v.layer(op)
	case plan.DoCover:
		return v.cover(op)
	case plan.DoCache:
		return v.cache(op)
	case plan.DoDevice:
		// Read-only, so that root cannot change the mode of the host's own node;
		// a device is written all the same.
		return v.bind(op, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	case plan.DoFile:
		return v.file(op)
	case plan.DoSymlink:
		return v.symlink(op)
	case plan.DoPts:
		return v.mount(op, "devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC,
			sys.Option{Key: "newinstance"}, sys.Option{Key: "ptmxmode", Value: "0666"}, sys.Option{Key: "mode", Value: "0620"})
	case plan.DoProc:
		return v.mount(op, "proc", quietAttr|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	case plan.DoMask:
		return v.mask(op)
	case plan.DoReadOnly:
		return v.readOnly(op)
	}
	return fmt.Errorf("unknown operation %q", op.Do)
}

func (v *view) tmpfs(op *plan.Op) error {
	attr := quietAttr
	if op.NoExec {
		attr |= unix.MOUNT_ATTR_NOEXEC
	}
	// One inode for 16 KiB: a bound on names as well as on bytes.
	return v.mount(op, "tmpfs", attr, sys.Option{Key: "mode", Value: fmt.Sprintf("%#o", op.Mode)},
		sys.Option{Key: "size", Value: strconv.FormatInt(op.Size, 10)},
		sys.Option{Key: "nr_inodes", Value: strconv.FormatInt(op.Size/(16<<10)+64, 10)})
}

func (v *view) mount(op *plan.Op, fstype string, attr int, options ...sys.Option) error {
	dst, err := v.mkdir(string(op.Dst), 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	m, err := sys.NewMount(fstype, attr, options...)
	if err != nil {
		return err
	}
	defer unix.Close(m)
	if fstype == "tmpfs" {
		d, err := device(m)
		if err != nil {
			return err
		}
		v.own[d] = true
	}
	return sys.Attach(m, dst)
}

// noOverlay says that the kernel makes no overlay here.
type noOverlay struct{ err error }

func (e *noOverlay) Error() string { return e.err.Error() }
func (e *noOverlay) Unwrap() error { return e.err }

// layer attaches a source of the host under an overlay: what is changed goes to a
// directory of the session's state. The three are named by descriptor, so that no
// path is looked up again and the mount table inside tells none.
func (v *view) layer(op *plan.Op) error {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	options := []sys.Option{{Key: "userxattr"}}
	for _, o := range []struct {
		key  string
		path plan.Raw
	}{{"lowerdir", op.Src}, {"upperdir", op.Upper}, {"workdir", op.Work}} {
		fd, err := sys.OpenSource(string(o.path))
		if err != nil {
			return err
		}
		fds = append(fds, fd)
		options = append(options, sys.Option{Key: o.key, Value: "/proc/self/fd/" + strconv.Itoa(fd)})
	}
	if err := judged(fds[0], op); err != nil {
		return err
	}
	dst, err := v.mkdir(string(op.Dst), 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	m, err := sys.NewMount("overlay", quietAttr, options...)
	if err != nil {
		return &noOverlay{err}
	}
	if err := sys.Attach(m, dst); err != nil {
		unix.Close(m)
		return err
	}
	if v.layers == nil {
		v.layers = map[plan.Raw]int{}
	}
	v.layers[op.Dst] = m
	return nil
}

// bind attaches a source of the host. The source is opened once; what is judged,
// cloned, restricted and attached is that descriptor and never a name again.
func (v *view) bind(op *plan.Op, attr uint64) error {
	src, err := sys.OpenSource(string(op.Src))
	if err != nil {
		return err
	}
	defer unix.Close(src)
	var st unix.Stat_t
	if err := unix.Fstat(src, &st); err != nil {
		return fmt.Errorf("stat %q: %w", string(op.Src), err)
	}
	if op.ID != nil && (st.Dev != op.ID.Dev || st.Ino != op.ID.Ino) {
		return fmt.Errorf("%q is not the file that policy judged: it was replaced meanwhile", string(op.Src))
	}
	if err := checkKind(op.Do, st.Mode); err != nil {
		return err
	}
	dst, err := v.point(string(op.Dst), st.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	if !op.Write && op.Do == plan.DoBind {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	if op.NoExec {
		attr |= unix.MOUNT_ATTR_NOEXEC
	}
	return attachCopy(src, dst, attr)
}

func attachCopy(src, dst int, attr uint64) error {
	tree, err := sys.CloneTree(src)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := sys.Restrict(tree, attr); err != nil {
		return err
	}
	return sys.Attach(tree, dst)
}

// checkKind keeps sockets and pipes of the host out of the view: connect() works
// through a read-only mount, so visibility would be reach.
func checkKind(do plan.Do, mode uint32) error {
	kind := mode & unix.S_IFMT
	switch {
	case do == plan.DoDevice && kind == unix.S_IFCHR:
	case do == plan.DoBind && (kind == unix.S_IFDIR || kind == unix.S_IFREG):
	default:
		return errors.New("source is not a directory or a regular file")
	}
	return nil
}

// file places generated bytes. In our own root they are made in place, and the
// root becomes read-only; elsewhere a read-only mount holds them, because what is
// around them is writable.
func (v *view) file(op *plan.Op) error {
	dir, base := path.Split(string(op.Dst))
	parent, err := v.mkdir(dir, 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	dev, err := device(parent)
	if err != nil {
		return err
	}
	if dev == v.dev || (op.Write && v.own[dev]) {
		return create(parent, base, op)
	}
	// It keeps its name there: a file without one says "(deleted)" where programs ask
	// for its path, and some then do not read it.
	hold, err := v.mkdir(filesAt, 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(hold)
	v.count++
	name := strconv.Itoa(v.count)
	if err := create(hold, name, op); err != nil {
		return err
	}
	src, err := sys.OpenBeneath(hold, name)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	dst, err := v.point(string(op.Dst), false)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	return attachCopy(src, dst, quietAttr|unix.MOUNT_ATTR_RDONLY)
}

// filesAt is where the bytes lie of generated files that are mounted elsewhere. They
// tell no more than the files themselves.
const filesAt = plan.Own + "/file"

func create(parent int, name string, op *plan.Op) error {
	fd, err := unix.Openat(parent, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, op.Mode)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for b := op.Data; len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return unix.Fchmod(fd, op.Mode)
}

func (v *view) symlink(op *plan.Op) error {
	dir, base := path.Split(string(op.Dst))
	parent, err := v.mkdir(dir, 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	if err := v.mayCreate(parent); err != nil {
		return err
	}
	return unix.Symlinkat(string(op.Src), parent, base)
}

// mask hides what is at Dst, if anything is: an empty read-only directory or file
// in its place. A name that does not exist needs no hiding and gets no stub.
func (v *view) mask(op *plan.Op) error {
	dst, err := sys.OpenBeneath(v.root, strings.TrimPrefix(string(op.Dst), "/"))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	var st unix.Stat_t
	if err := unix.Fstat(dst, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return errors.New("is a symbolic link: mask what it points to")
	}
	name := ".empty-file"
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		name = ".empty-dir"
	}
	src, err := v.empty(name)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	return attachCopy(src, dst, quietAttr|unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC)
}

// tidy takes the names of the empty file and directory away; the mounts stay.
func (v *view) tidy() {
	unix.Unlinkat(v.root, ".empty-file", 0)
	unix.Unlinkat(v.root, ".empty-dir", unix.AT_REMOVEDIR)
}

// empty returns the one empty file or directory that all masks show.
func (v *view) empty(name string) (int, error) {
	src, err := sys.OpenBeneath(v.root, name)
	if err == nil || !errors.Is(err, unix.ENOENT) {
		return src, err
	}
	if name == ".empty-dir" {
		err = unix.Mkdirat(v.root, name, 0o555)
	} else {
		err = unix.Mknodat(v.root, name, unix.S_IFREG|0o444, 0)
	}
	if err != nil {
		return -1, err
	}
	return sys.OpenBeneath(v.root, name)
}

func (v *view) readOnly(op *plan.Op) error {
	if op.Dst == "/" {
		v.tidy()
	}
	dst, err := sys.OpenBeneath(v.root, strings.TrimPrefix(string(op.Dst), "/"))
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	return unix.MountSetattr(dst, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// point opens the mount point dst, making it in our own tmpfs if need be.
func (v *view) point(dst string, dir bool) (int, error) {
	if dir {
		return v.mkdir(dst, 0o755)
	}
	parentPath, base := path.Split(dst)
	parent, err := v.mkdir(parentPath, 0o755)
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	fd, err := sys.OpenBeneath(parent, base)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if err := v.mayCreate(parent); err != nil {
		return -1, err
	}
	if err := unix.Mknodat(parent, base, unix.S_IFREG|0o644, 0); err != nil {
		return -1, err
	}
	return sys.OpenBeneath(parent, base)
}

// mkdir opens dst, making missing directories, each only in our own tmpfs: a name
// is never created on the host.
func (v *view) mkdir(dst string, mode uint32) (int, error) {
	rel := strings.Trim(path.Clean(dst), "/")
	if fd, err := sys.OpenBeneath(v.root, rel); err == nil || !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	at, err := sys.OpenBeneath(v.root, "")
	if err != nil {
		return -1, err
	}
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		next, err := sys.OpenBeneath(at, part)
		if errors.Is(err, unix.ENOENT) {
			m := uint32(0o755)
			if i == len(parts)-1 {
				m = mode
			}
			next, err = v.makeOne(at, part, m)
		}
		unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

func (v *view) makeOne(parent int, name string, mode uint32) (int, error) {
	if err := v.mayCreate(parent); err != nil {
		return -1, err
	}
	if err := unix.Mkdirat(parent, name, mode); err != nil {
		return -1, err
	}
	fd, err := sys.OpenBeneath(parent, name)
	if err != nil {
		return -1, err
	}
	// The umask of the launcher must not decide what the agent can enter.
	if err := unix.Fchmodat(parent, name, mode, 0); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (v *view) mayCreate(parent int) error {
	d, err := device(parent)
	if err != nil {
		return err
	}
	if !v.own[d] {
		return errors.New("would create a name on the host")
	}
	return nil
}

func (v *view) closing(fd int, err error) error {
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func device(fd int) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	return st.Dev, nil
}
