package parcel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Parcel is what is sent, on this machine.
type Parcel struct {
	List
	Dir     string            // of this machine, where a large content is copied before it is sent; "": the usual one
	ops     []int             // of the plan: which one shows which tree
	self    map[int]bool      // operations that show this program itself
	sources []source          // by tree
	where   map[string]origin // by digest: where a content was found first
	judge   rung.Judge        // nil: nobody
	begins  bytes.Buffer      // of the file that is read
	entries int
	listed  int // bytes of the list as it is sent, at least
	bytes   int64
}

// source is a tree of this machine.
type source struct {
	op   plan.Op
	bare bool // only names that something is mounted on: what is in it stays here
	gone bool // a mask lies over all of it
	id   plan.Identity
}

// open opens the tree that was listed, and no other that took its place.
func (s *source) open() (int, error) {
	root, err := sys.OpenSource(string(s.op.Src))
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(root, &st); err == nil && (st.Dev != s.id.Dev || st.Ino != s.id.Ino) {
		err = fmt.Errorf("%s was replaced while it was sent", plan.Show(string(s.op.Src)))
	}
	if err != nil {
		unix.Close(root)
		return -1, err
	}
	return root, nil
}

// origin is where a content lies.
type origin struct {
	tree int
	path string
}

// Pack looks at all that a plan shows of this machine, but for what other operations put
// something over. The judge is told of every file the bytes that its digest is taken of, and
// only what has that digest is sent: what is judged is what goes. May be nil.
func Pack(ctx context.Context, p *plan.Plan, key string, judge rung.Judge) (*Parcel, error) {
	c := &Parcel{judge: judge, List: List{Key: key, Trees: [][]Entry{}}, self: map[int]bool{}, where: map[string]origin{}}
	covers := coversOf(p)
	for i, o := range p.Ops {
		if !carried(&o) {
			continue
		}
		if isSelf(string(o.Src)) && !o.Write {
			c.self[i] = true
			continue
		}
		if err := checkLayer(&o, covers); err != nil {
			return nil, fmt.Errorf("%s: %w", plan.Show(string(o.Src)), err)
		}
		c.ops = append(c.ops, i)
		gone := masked(p, string(o.Dst))
		c.sources = append(c.sources, source{op: o, gone: gone, bare: gone || o.Do == plan.DoCache || o.Do == plan.DoBind && o.Write})
		if err := c.tree(ctx, len(c.sources)-1, covers); err != nil {
			return nil, fmt.Errorf("%s: %w", plan.Show(string(o.Src)), err)
		}
	}
	return c, nil
}

// carried holds for an operation whose source is this machine's.
func carried(o *plan.Op) bool {
	return !o.There && (o.Do == plan.DoBind || o.Do == plan.DoLayer || o.Do == plan.DoCache)
}

// masked holds for a place that a mask hides, itself or with what is above it.
func masked(p *plan.Plan, at string) bool {
	return slices.ContainsFunc(p.Ops, func(o plan.Op) bool { return o.Do == plan.DoMask && file.Within(at, string(o.Dst)) })
}

// isSelf holds for the program that runs: it is on the other machine already.
func isSelf(src string) bool {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	st, err := os.Stat(src)
	return err == nil && os.SameFile(own, st)
}

// coversOf are the paths of a view at which an operation puts something over what lies
// there.
func coversOf(p *plan.Plan) map[string]bool {
	out := map[string]bool{}
	for _, o := range p.Ops {
		if o.Do != plan.DoReadOnly { // that covers nothing
			out[string(o.Dst)] = true
		}
	}
	return out
}

// Plan is the same plan as the other machine carries it out: its trees lie below dir there,
// and self is our program.
func (c *Parcel) Plan(p *plan.Plan, dir, self string) *plan.Plan {
	out := *p
	out.Ops = append([]plan.Op(nil), p.Ops...)
	for n, i := range c.ops {
		o := &out.Ops[i]
		o.Src, o.There, o.ID = plan.Raw(path.Join(dir, fmt.Sprint(n))), true, nil
		if o.Do == plan.DoCache { // nothing is ready there
			o.Do, o.Write, o.Upper, o.Work, o.Lower = plan.DoBind, true, "", "", nil
		}
	}
	for i := range c.self {
		out.Ops[i].Src, out.Ops[i].There, out.Ops[i].ID = plan.Raw(self), true, nil
	}
	return &out
}

// tree lists one tree.
func (c *Parcel) tree(ctx context.Context, n int, covers map[string]bool) error {
	s := c.sources[n]
	root, err := sys.OpenSource(string(s.op.Src))
	if err != nil {
		return err
	}
	defer unix.Close(root)
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		return err
	}
	if id := s.op.ID; id != nil && (st.Dev != id.Dev || st.Ino != id.Ino) {
		return errors.New("it is not what policy judged: it was replaced meanwhile")
	}
	c.sources[n].id = plan.Identity{Dev: st.Dev, Ino: st.Ino}
	w := &walk{Parcel: c, ctx: ctx, n: n, root: root, dst: string(s.op.Dst), covers: covers}
	if s.bare {
		w.needed = needed(w.dst, covers)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if s.gone {
			err = w.add(nameOnly(Dir, ""))
		} else if err = w.add(entryOf(Dir, "", &st)); err == nil {
			err = w.dir("")
		}
	case unix.S_IFREG:
		err = w.single(&st, s.gone)
	default:
		err = errors.New("it is neither a file nor a directory")
	}
	c.Trees = append(c.Trees, w.out)
	return err
}

// needed are the directories on the way to what covers something below a place.
func needed(dst string, covers map[string]bool) map[string]bool {
	out := map[string]bool{}
	for at := range covers {
		for ; at != dst && file.Within(at, dst); at = path.Dir(at) {
			out[at] = true
		}
	}
	return out
}

// walk lists one tree.
type walk struct {
	*Parcel
	ctx    context.Context
	n      int
	root   int
	dst    string
	covers map[string]bool
	needed map[string]bool // nil: everything
	out    []Entry
}

func entryOf(kind byte, rel string, st *unix.Stat_t) Entry {
	return Entry{Kind: kind, Path: []byte(rel), Mode: st.Mode & 0o777, Sec: st.Mtim.Sec, Nsec: st.Mtim.Nsec}
}

// nameOnly is what goes of something covered: a place to put the cover on.
func nameOnly(kind byte, rel string) Entry {
	mode := uint32(0o600)
	if kind == Dir {
		mode = 0o700
	}
	return Entry{Kind: kind, Path: []byte(rel), Mode: mode}
}

func (w *walk) add(e Entry) error {
	if w.entries++; w.entries > MaxEntries {
		return &Full{fmt.Sprintf("%d files", MaxEntries)}
	}
	if w.listed += 160 + (len(e.Path)+len(e.Target))*4/3; w.listed > MaxList {
		return &Full{fmt.Sprintf("%d MB of names", MaxList>>20)}
	}
	w.out = append(w.out, e)
	return w.ctx.Err()
}

// dir lists what is in a directory. One that this user may not read is empty for the agent,
// too.
func (w *walk) dir(rel string) error {
	fd, err := sys.OpenOn(w.root, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, unix.EXDEV) { // another file system is mounted there
		return fmt.Errorf("%q: something is mounted there, which is not sent", rel)
	}
	if unseen(err) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := sys.Names(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := w.entry(path.Join(rel, name)); err != nil {
			return err
		}
	}
	return nil
}

// unseen is what is gone by now, or closed to this user.
func unseen(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP)
}

func (w *walk) entry(rel string) error {
	at := w.dst + "/" + rel
	if w.needed != nil && !w.needed[at] {
		return nil
	}
	fd, err := sys.OpenOn(w.root, rel, unix.O_PATH)
	if unseen(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%q: %w", rel, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	covered := w.covers[at] || laidOver(string(w.sources[w.n].op.Upper), rel)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if covered {
			return w.add(nameOnly(Dir, rel))
		}
		if err := w.add(entryOf(Dir, rel, &st)); err != nil {
			return err
		}
		return w.dir(rel)
	case unix.S_IFREG:
		if covered || w.needed != nil {
			return w.add(nameOnly(File, rel))
		}
		e := entryOf(File, rel, &st)
		if err := w.content(&e, rel); err != nil {
			return fmt.Errorf("%q: %w", rel, err)
		}
		return w.add(e)
	case unix.S_IFLNK:
		if covered { // where it leads is hidden as well
			return w.add(nameOnly(File, rel))
		}
		e := entryOf(Link, rel, &st)
		target, err := sys.ReadLink(fd, "")
		if err != nil {
			return err
		}
		e.Mode, e.Target = 0, []byte(target)
		if err := w.judged(rel, e.Target, true); err != nil {
			return fmt.Errorf("%q: %w", rel, err)
		}
		return w.add(e)
	}
	return nil // sockets, pipes and devices are of this kernel
}

// laidOver holds for a name over which the layer of a tree has something: what stands for a
// file with secrets, or what the agent made of it before.
func laidOver(upper, rel string) bool {
	if upper == "" {
		return false
	}
	at := path.Join(upper, rel)
	st, err := os.Lstat(at)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // who cannot look keeps it here
	}
	if !st.IsDir() {
		return true
	}
	var mark [1]byte
	n, err := unix.Lgetxattr(at, "user.overlay.opaque", mark[:])
	return err == nil && n == 1 && mark[0] == 'y'
}

// single is a tree that is one file.
func (w *walk) single(st *unix.Stat_t, gone bool) error {
	if gone {
		return w.add(nameOnly(File, ""))
	}
	e := entryOf(File, "", st)
	if err := w.content(&e, ""); err != nil {
		return err
	}
	return w.add(e)
}

// open opens a file of a tree; "" is the tree itself.
func (w *walk) open(rel string) (*os.File, error) { return openIn(w.root, rel) }

func openIn(root int, rel string) (*os.File, error) {
	var fd int
	var err error
	if rel == "" {
		fd, err = unix.Open(sys.ByDescriptor(root), sys.ReadFile|unix.O_CLOEXEC, 0)
	} else {
		fd, err = sys.OpenOn(root, rel, sys.ReadFile)
	}
	if fd, _, err = sys.Regular(fd, err); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), strings.TrimPrefix(rel, "/")), nil
}

func (w *walk) judged(rel string, begins []byte, link bool) error {
	if w.judge == nil {
		return nil
	}
	return w.judge(path.Join(string(w.sources[w.n].op.Src), rel), begins, link)
}

// content takes the digest of a file. One that this user may not read has none.
func (w *walk) content(e *Entry, rel string) error {
	f, err := w.open(rel)
	if unseen(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	w.begins.Reset()
	n, err := io.Copy(io.MultiWriter(sum, &w.begins), io.LimitReader(f, rung.Judged))
	if err == nil && n == rung.Judged {
		var more int64
		more, err = io.Copy(sum, io.LimitReader(f, MaxFile+1-n))
		n += more
	}
	switch {
	case err != nil:
		return err
	case n > MaxFile:
		return &Full{fmt.Sprintf("a file of %d GB", MaxFile>>30)}
	case n == 0:
		return nil
	}
	if err := w.judged(rel, w.begins.Bytes(), false); err != nil {
		return err
	}
	e.Size, e.Sum = n, sum.Sum(nil)
	if _, had := w.where[string(e.Sum)]; had {
		return nil
	}
	w.where[string(e.Sum)] = origin{w.n, rel}
	if w.bytes += n; w.bytes > MaxBytes {
		return &Full{fmt.Sprintf("%d GB", int64(MaxBytes)>>30)}
	}
	return nil
}
