package keeper

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// target is a place in a directory that can be changed: of the host, or of the
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

// target finds the place that s stands for on the host or in the layer. Anything
// else that is mounted over it inside is the kernel's.
func (w *work) target(s place) (target, error) {
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
	// Only what is not there may be noted as new: an undo removes that.
	if err := unix.Fstatat(dir, t.name, &t.st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return t, ignore(err, unix.ENOENT)
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
func (w *work) inLayer(t *target, dir string) error {
	if t.held.file != "" {
		dir, t.name = "", t.held.file
	}
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
	return sys.OpenAt(at, rel, unix.O_PATH|unix.O_DIRECTORY)
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
	// make makes a new name in the layer where it is neither a file nor a directory;
	// with that the call is done.
	make func(dir int, name string) error
}

func (*needHold) Error() string { return "to be held" }

// judge decides about a change at t: nil to pass, or needHold. like tells what
// would be made where nothing is. What would have to be judged by its content is
// held, too: whoever has it open can write more at any time. A rename may pass it.
func (k *Keeper) judge(t *target, like uint32) error {
	if t.held != nil {
		return nil
	}
	if t.is {
		like = t.kind()
	}
	v := k.verdict(t, like)
	switch {
	case v.Hold:
		return &needHold{tree: t.tree, root: v.Root, dir: like == unix.S_IFDIR || v.Root != t.rel, verdict: v}
	case v.Form != hostexec.FormAny:
		return &needHold{tree: t.tree, root: t.rel, verdict: v}
	}
	return nil
}

// verdict asks the rules, with what the host has around t.
func (k *Keeper) verdict(t *target, like uint32) hostexec.Verdict {
	tree := &k.conf.Trees[t.tree]
	v := tree.Rules.JudgeIn(hostTree{tree.Host}, t.rel, kindOf(like))
	if root, ok := k.nested[t.tree].Executed(t.rel); ok && !v.Hold {
		v.Hold, v.Root = true, root
	}
	return v
}

// hostTree tells the rules what the host has.
type hostTree struct{ root *os.File }

func (h hostTree) At(rel string) (hostexec.Kind, bool) {
	var st unix.Stat_t
	if unix.Fstatat(int(h.root.Fd()), rel, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0, false
	}
	return kindOf(st.Mode & unix.S_IFMT), true
}

func kindOf(mode uint32) hostexec.Kind {
	switch mode {
	case unix.S_IFREG:
		return hostexec.KindFile
	case unix.S_IFDIR:
		return hostexec.KindDir
	case unix.S_IFLNK:
		return hostexec.KindLink
	}
	return hostexec.KindSpecial
}

// inGit says whether a path belongs to git itself.
func (k *Keeper) inGit(t *target) bool {
	tree := &k.conf.Trees[t.tree]
	return tree.Rules.InGitDirectory(hostTree{tree.Host}, t.rel)
}
