package keeper

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/hostexec"
)

// target is a spot in a directory that can be changed: of the host, or of the
// layer if the path is held.
type target struct {
	dir  int // O_PATH
	name string
	tree int
	rel  string
	held *held
	// slash: the path ended in one
	slash bool
	st    unix.Stat_t
	is    bool // st says what is there
}

func (t *target) kind() uint32 { return t.st.Mode & unix.S_IFMT }
func (t *target) isDir() bool  { return t.is && t.kind() == unix.S_IFDIR }

// reserved begins the names under which ringfence itself writes to a tree before it
// renames: who could make one could swap it.
const reserved = ".ringfence-"

const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// target finds the place that s stands for on the host or in the layer. Anything
// else that is mounted over it inside is the kernel's.
func (w *worker) target(s spot) (target, error) {
	if s.tree < 0 {
		return target{}, errContinue
	}
	tree := &w.conf.Trees[s.tree]
	t := target{name: s.name, tree: s.tree, rel: s.rel(), slash: s.slash}
	if t.held = w.held[s.tree].at(t.rel); t.held != nil && t.held.masked {
		return t, w.inLayer(&t, s.dir)
	}
	if tree.pins(t.rel) {
		return t, w.pinned(&t)
	}
	if strings.HasPrefix(t.name, reserved) {
		return t, unix.EACCES
	}
	if t.held != nil {
		return t, w.inLayer(&t, s.dir)
	}
	dir, err := openDir(int(tree.Host.Fd()), s.dir)
	if err != nil {
		return t, errContinue
	}
	t.dir = w.own(dir)
	if same, err := sameNode(s.parent, dir); err != nil || !same {
		return t, errContinue
	}
	if t.name == "" {
		t.name = "."
	}
	if unix.Fstatat(dir, t.name, &t.st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return t, nil
	}
	t.is = true
	// A mask or a mount of the host's own below the tree.
	var inside unix.Stat_t
	if err := unix.Fstatat(s.parent, t.name, &inside, unix.AT_SYMLINK_NOFOLLOW); err != nil || inside.Dev != t.st.Dev || inside.Ino != t.st.Ino {
		return t, errContinue
	}
	return t, nil
}

// pins says whether rel is at or below a path that a rule of the user names: the
// mount that stands there decides.
func (t *Tree) pins(rel string) bool {
	for _, p := range t.Pinned {
		if rel == p || strings.HasPrefix(rel, p+"/") {
			return true
		}
	}
	return false
}

// inLayer aims t at the layer.
func (w *worker) inLayer(t *target, dir string) error {
	fd, err := openDir(int(w.conf.Trees[t.tree].Layer.Fd()), dir)
	if err != nil {
		return errContinue
	}
	t.dir = w.own(fd)
	if t.held.gone(t.rel) {
		return nil // a held file that was deleted keeps its empty shell
	}
	t.is = unix.Fstatat(fd, t.name, &t.st, unix.AT_SYMLINK_NOFOLLOW) == nil
	return nil
}

func openDir(at int, rel string) (int, error) {
	if rel == "" {
		rel = "."
	}
	return unix.Openat2(at, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
}

func sameNode(a, b int) (bool, error) {
	var x, y unix.Stat_t
	if err := errors.Join(unix.Fstat(a, &x), unix.Fstat(b, &y)); err != nil {
		return false, err
	}
	return x.Dev == y.Dev && x.Ino == y.Ino, nil
}

// needHold says that a path has to be held before the call can be done.
type needHold struct {
	tree    int
	root    string
	dir     bool
	verdict hostexec.Verdict
	masked  bool
}

func (*needHold) Error() string { return "to be held" }

// judge decides about a change at t: nil to pass, or needHold. like tells what
// would be made where nothing is.
func (w *worker) judge(t *target, like uint32) error {
	if t.held != nil {
		return nil
	}
	if t.is {
		like = t.kind()
	}
	dir := like == unix.S_IFDIR
	rules := w.conf.Trees[t.tree].Rules
	v := rules.Judge(t.rel, dir)
	if like == unix.S_IFLNK {
		v = rules.JudgeLink(t.rel)
	}
	if !v.Hold && dir && !t.is {
		// A repository that begins in the session.
		if root, ok := rules.HoldRootNew(t.rel); ok && root == t.rel && gitDepth(t.name) > 0 {
			v.Hold, v.Root = true, root
		}
	}
	if !v.Hold {
		if root, ok := w.bareGit(t); ok {
			v.Hold, v.Root = true, root
		} else if root, ok := w.nested[t.tree].Executed(t.rel); ok {
			v.Hold, v.Root = true, root
		}
	}
	if !v.Hold {
		return nil
	}
	return &needHold{tree: t.tree, root: v.Root, dir: dir || v.Root != t.rel, verdict: v}
}

// bareGit finds names that matter in a directory that looks like a git directory
// wherever it lies.
func (w *worker) bareGit(t *target) (string, bool) {
	rules := w.conf.Trees[t.tree].Rules
	// Names of submodules have slashes: below modules anything may be a git directory.
	module := w.inModules(t)
	if rules.InGitDir(t.name) && (module || mayBeGitDir(t.dir)) {
		return t.rel, true
	}
	// The last piece: beside a config that is live already.
	if strings.EqualFold(t.name, "HEAD") && !t.is && hasAny(t.dir, "config", "objects", "commondir", "hooks") {
		return t.rel, true
	}
	// hooks/NAME and info/NAME: one directory up.
	dir := parentOf(t.rel)
	base := dir[strings.LastIndexByte(dir, '/')+1:]
	if base == "" || !rules.InGitDir(base) {
		return "", false
	}
	if module {
		return dir, true
	}
	up, err := openDir(int(w.conf.Trees[t.tree].Host.Fd()), parentOf(dir))
	if err != nil {
		return "", false
	}
	w.own(up)
	return dir, mayBeGitDir(up)
}

func (w *worker) inModules(t *target) bool {
	if w.conf.Trees[t.tree].Git {
		return strings.HasPrefix(t.rel, "modules/")
	}
	return strings.Contains("/"+strings.ToLower(t.rel), "/.git/modules/")
}

func hasAny(dir int, names ...string) bool {
	var st unix.Stat_t
	for _, n := range names {
		if unix.Fstatat(dir, n, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return true
		}
	}
	return false
}

// mayBeGitDir holds where HEAD is: a new HEAD is held, so one that the host has is
// what the rest of a git directory could be put beside.
func mayBeGitDir(dir int) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, "HEAD", &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR
}
