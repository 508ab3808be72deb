package keeper

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// newName finds where a new name is to be made, and judges it.
func (w *worker) newName(dirfd int, at uint64, like uint32) (target, error) {
	t, err := w.find(dirfd, at, false)
	if err != nil {
		return t, err
	}
	if t.is {
		return t, unix.EEXIST
	}
	if err := w.judge(&t, like); err != nil {
		return t, err
	}
	if t.held == nil {
		err = w.created(&t, like == unix.S_IFDIR)
	}
	return t, err
}

// created notes that a name is about to be made on the host.
func (k *Keeper) created(t *target, dir bool) error {
	return k.conf.Store.Created(t.tree, t.rel, dir)
}

func (w *worker) mkdir(dirfd int, at uint64, mode uint32) {
	w.answer(w.change(func() error {
		t, err := w.newName(dirfd, at, unix.S_IFDIR)
		// A directory that had to be held was made with that.
		if errors.Is(err, unix.EEXIST) && t.held != nil && t.held.fresh.CompareAndSwap(true, false) && t.rel == t.held.root {
			return nil
		}
		if err != nil {
			return err
		}
		return unix.Mkdirat(t.dir, t.name, w.mode(mode))
	}))
}

// mknod makes files, pipes and sockets; the filter has refused devices.
func (w *worker) mknod(dirfd int, at uint64, mode uint32) {
	kind := mode & unix.S_IFMT
	if kind != 0 && kind != unix.S_IFREG {
		w.answer(w.change(func() error {
			t, err := w.find(dirfd, at, false)
			if err != nil {
				return err
			}
			if t.is {
				return unix.EEXIST
			}
			return w.special(&t, kind, func(dir int, name string) error {
				return unix.Mknodat(dir, name, kind|w.mode(mode), 0)
			})
		}))
		return
	}
	w.answer(w.change(func() error {
		t, err := w.newName(dirfd, at, unix.S_IFREG)
		if err != nil {
			return err
		}
		err = unix.Mknodat(t.dir, t.name, mode&unix.S_IFMT|w.mode(mode), 0)
		if n, _, ok := nodeAt(t.dir, t.name); ok && err == nil {
			w.recent.note(n)
		}
		w.mine(&t, err)
		w.locks(&t, err)
		return err
	}))
}

// special makes a pipe or a socket. Both are of use to the processes of the session
// alone, so they are private to it and end with it: on the host one could feed or
// stop whoever opens it. At a name that the host reads neither is made at all.
func (w *worker) special(t *target, kind uint32, make func(dir int, name string) error) error {
	if t.held != nil {
		return make(t.dir, t.name)
	}
	if w.judge(t, kind) != nil {
		return unix.EACCES
	}
	v := hostexec.Verdict{Rank: hostexec.Source, Who: "nobody", When: "on the host: a pipe or socket is private to the session"}
	return &needHold{tree: t.tree, root: t.rel, verdict: v, make: make}
}

// symlink makes a link. One at a held name is refused: what it leads to would be
// run, and it could be changed at any time.
func (w *worker) symlink(text uint64, dirfd int, at uint64) {
	w.answer(w.change(func() error {
		target, err := w.path(text)
		if err != nil {
			return err
		}
		t, err := w.newName(dirfd, at, unix.S_IFLNK)
		if n, ok := err.(*needHold); ok && n.root == t.rel {
			if !w.conf.Trees[t.tree].Rules.Leads(n.verdict, target) {
				return unix.EACCES
			}
			err = w.created(&t, false)
		}
		if err == nil && t.held == nil && w.conf.Trees[t.tree].Rules.Below(t.rel) {
			return unix.EACCES // what it leads to would be held by these names
		}
		if err != nil {
			return err
		}
		err = unix.Symlinkat(target, t.dir, t.name)
		if n, _, ok := nodeAt(t.dir, t.name); ok && err == nil {
			w.recent.note(n)
		}
		return err
	}))
}

// unlink removes a name.
func (w *worker) unlink(dirfd int, at uint64, flags uint32) {
	if flags&^uint32(unix.AT_REMOVEDIR) != 0 {
		w.pass()
		return
	}
	if flags&unix.AT_REMOVEDIR != 0 {
		w.answer(w.alone(func() error { return w.rmdir(dirfd, at) }))
		return
	}
	err := w.change(func() error { return w.remove(dirfd, at, false) })
	if errors.Is(err, errAlone) {
		err = w.alone(func() error { return w.remove(dirfd, at, true) })
	}
	w.answer(err)
}

// errAlone says that a lock is to go: were two to remove it at once, the second could
// meet that of the host, which came when the first was gone.
var errAlone = errors.New("to be done alone")

// remove removes what is no directory. alone says that the caller has names alone.
func (w *worker) remove(dirfd int, at uint64, alone bool) error {
	t, err := w.find(dirfd, at, false)
	if err != nil {
		return err
	}
	// On a read-only mount the kernel would not even look.
	if !t.is {
		return unix.ENOENT
	}
	if t.isDir() {
		return unix.EISDIR
	}
	if text, err := sys.ReadLink(t.dir, t.name); t.held == nil && err == nil && text == Nowhere {
		return unix.EBUSY // another session's
	}
	if err := w.ofHost(&t); err != nil {
		return err
	}
	if !alone && w.isLock(&t) {
		return errAlone
	}
	if err := w.judge(&t, unix.S_IFREG); err != nil {
		if n := err.(*needHold); n.root != t.rel || w.staysOnHost(&t, n) {
			return err
		}
	}
	if t.held != nil {
		return w.unlinkHeld(&t)
	}
	if w.irreplaceable(&t) {
		return unix.EBUSY
	}
	if err := w.conf.Store.Save(t.tree, t.rel, t.dir, t.name, undo.Remove); err != nil {
		return err
	}
	return unix.Unlinkat(t.dir, t.name, 0)
}

// irreplaceable holds for an object of git that undo could not bring back: it is too
// large to be kept, and with it history would go for good. It is neither deleted nor
// written.
func (k *Keeper) irreplaceable(t *target) bool { return !k.conf.Store.Keeps(t.st.Size) && k.object(t) }

// object holds for an object of git that is not the session's own and not kept yet. It gets
// no other name: under that it would not look like an object when the store is full.
func (k *Keeper) object(t *target) bool {
	if t.held != nil || t.kind() != unix.S_IFREG || k.conf.Store.Kept(t.tree, t.rel) {
		return false
	}
	tree := &k.conf.Trees[t.tree]
	part, ok := tree.Rules.Part(hostTree{tree.Host}, t.rel, hostexec.KindFile)
	return ok && strings.HasPrefix(part.Rest, "objects/")
}

// staysOnHost holds for what the host keeps although it was deleted inside: git's own
// files, and settings that bind the next session. References and the index come and
// go with git's work; without HEAD a git directory would not look like one.
func (k *Keeper) staysOnHost(t *target, n *needHold) bool {
	if n != nil && !n.verdict.Hold {
		return t.name == "HEAD"
	}
	return k.inGit(t) || strings.EqualFold(t.name, "HEAD") || strings.HasPrefix(t.name, ".ringfence.") || strings.Contains("/"+t.rel, "/.claude/")
}

// unlinkHeld deletes a held file. To delete one is no danger to the host, and a
// branch without it must look like that: the deletion passes, and can be undone. But
// git's own files and masked ones stay on the host; inside an empty shell is left of
// them, because a name with a mount over it cannot go.
func (w *work) unlinkHeld(t *target) error {
	if t.rel != t.held.root {
		return unix.Unlinkat(t.dir, t.name, 0)
	}
	if !t.held.masked && (t.held.new || !w.staysOnHost(t, nil)) {
		return w.dropShell(t.tree, t.held)
	}
	fd, err := openFile(t.dir, t.name, unix.O_WRONLY|unix.O_TRUNC, 0)
	if err != nil {
		return err
	}
	unix.Close(fd)
	t.held.shell.Store(true)
	return nil
}

// rmdir removes a directory. To delete what is held with all it has is no danger
// to the host: then the deletion passes.
func (w *worker) rmdir(dirfd int, at uint64) error {
	t, err := w.find(dirfd, at, false)
	if err != nil {
		return err
	}
	if !t.is {
		return unix.ENOENT
	}
	if !t.isDir() {
		return unix.ENOTDIR
	}
	if t.held != nil {
		if t.rel != t.held.root {
			return unix.Unlinkat(t.dir, t.name, unix.AT_REMOVEDIR)
		}
		return w.rmdirHeld(&t)
	}
	if err := w.dropShells(&t); err != nil {
		return err
	}
	if err := w.conf.Store.Save(t.tree, t.rel, t.dir, t.name, undo.Remove); err != nil {
		return err
	}
	return unix.Unlinkat(t.dir, t.name, unix.AT_REMOVEDIR)
}

// dropShells deletes on the host the held files of a directory that were deleted
// inside, if nothing else is in it: only then does the directory go, and they with it.
func (w *work) dropShells(t *target) error {
	shells := map[string]*held{}
	for _, x := range w.held[t.tree].below(t.rel) {
		shells[x.root] = x
	}
	if len(shells) == 0 {
		return nil
	}
	fd, err := unix.Openat(t.dir, t.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	entries, err := readNames(w.own(fd))
	if err != nil {
		return err
	}
	for _, e := range entries {
		x := shells[join(t.rel, e)]
		if x == nil || x.masked || !x.gone(x.root) {
			return unix.ENOTEMPTY
		}
	}
	for _, x := range shells {
		if err := w.dropShell(t.tree, x); err != nil {
			return err
		}
	}
	return nil
}

// dropShell deletes one. When the name on the host goes, the kernel takes the mount
// over it away.
func (w *work) dropShell(tree int, x *held) error {
	dir, name, err := w.parentIn(int(w.conf.Trees[tree].Host.Fd()), x.root)
	if err != nil {
		return err
	}
	if !x.new {
		if err := w.conf.Store.Save(tree, x.root, dir, name, undo.Remove); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(dir, name, 0); err != nil {
		return err
	}
	w.held[tree].remove(x.root)
	layer, name, err := w.parentIn(int(w.conf.Trees[tree].Layer.Fd()), x.inLayer())
	if err != nil {
		return err
	}
	return ignore(unix.Unlinkat(layer, name, 0), unix.ENOENT)
}

// rmdirHeld removes a held directory that is empty in the layer.
func (w *work) rmdirHeld(t *target) error {
	if err := unix.Unlinkat(t.dir, t.name, unix.AT_REMOVEDIR); err != nil {
		return err // ENOTEMPTY, mostly
	}
	if err := w.release(t.tree, t.held); err != nil || t.held.new {
		return err
	}
	dir, name, err := w.parentIn(int(w.conf.Trees[t.tree].Host.Fd()), t.rel)
	if err != nil {
		return err
	}
	return w.removeAll(t.tree, t.rel, dir, name)
}

// removeAll removes a tree of the host as the agent did inside, and keeps it for
// undo.
func (k *Keeper) removeAll(tree int, rel string, dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	entries, err := readNames(fd)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var st unix.Stat_t
		if err := unix.Fstatat(fd, e, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			err = k.removeAll(tree, join(rel, e), fd, e)
		} else if err = k.conf.Store.Save(tree, join(rel, e), fd, e, undo.Remove); err == nil {
			err = unix.Unlinkat(fd, e, 0)
		}
		if err != nil {
			return err
		}
	}
	if err := k.conf.Store.Save(tree, rel, dir, name, undo.Remove); err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

func readNames(fd int) ([]string, error) {
	var names []string
	b := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, b)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(b[:n], -1, names)
	}
}

func ignore(err error, but unix.Errno) error {
	if errors.Is(err, but) {
		return nil
	}
	return err
}

// ignoreAs says an error in other words.
func ignoreAs(err error, one, other unix.Errno) error {
	if errors.Is(err, one) {
		return other
	}
	return err
}
