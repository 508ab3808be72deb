package keeper

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// rename moves a name. What is protected does not move, and nothing moves to where
// it would be: a file is copied into the layer instead, and for a directory the
// answer is the one between two file systems, upon which tools copy by themselves.
func (w *worker) rename(oldfd int, old uint64, newfd int, new uint64, flags uint32) {
	// An exchange is two moves at once, each to be judged by what comes: tools do
	// without it on file systems that have none.
	if flags&^uint32(unix.RENAME_NOREPLACE) != 0 {
		w.calls.Fail(&w.call, unix.EINVAL)
		return
	}
	w.answer(w.alone(func() error {
		from, err := w.find(oldfd, old, false)
		if err != nil {
			return err
		}
		to, err := w.find(newfd, new, false)
		if err != nil {
			return err
		}
		if !from.is {
			return unix.ENOENT
		}
		return w.move(&from, &to, flags)
	}))
}

func (w *worker) move(from, to *target, flags uint32) error {
	if flags&unix.RENAME_NOREPLACE != 0 && to.is {
		return unix.EEXIST
	}
	if from.held != nil && from.held == to.held && from.rel != from.held.root && to.rel != to.held.root {
		return unix.Renameat2(from.dir, from.name, to.dir, to.name, uint(flags))
	}
	if from.isDir() && len(w.held[from.tree].below(from.rel)) > 0 {
		w.publish() // what has become live does not keep it
	}
	if err := w.mayLeave(from); err != nil {
		return err
	}
	if err := cmp.Or(w.ofHost(from), w.ofHost(to)); err != nil {
		return err
	}
	err := w.judgeMove(from, to)
	if n, ok := err.(*needHold); ok && !n.verdict.Hold && from.kind() == unix.S_IFREG {
		if release, fits := w.seal(from, to, n.verdict.Form); fits {
			defer release()
			err = nil
		}
	}
	if err != nil || to.held != nil {
		if from.kind() != unix.S_IFREG || to.isDir() {
			return unix.EXDEV
		}
		if err != nil {
			return err
		}
		return w.copyIn(from, to)
	}
	if from.isDir() && (w.inGit(from) || w.inGit(to) || w.carriesHeld(from, to) || w.nested[to.tree].Above(to.rel)) {
		return unix.EXDEV
	}
	return w.moveOnHost(from, to, flags)
}

// judgeMove judges a name by what comes to it, and by what is there.
func (k *Keeper) judgeMove(from, to *target) error {
	come := *to
	come.is = false
	if err := k.judge(&come, from.kind()); err != nil {
		return err
	}
	if from.kind() == unix.S_IFLNK && to.held == nil && k.conf.Trees[to.tree].Rules.Below(to.rel) {
		return unix.EACCES // as for a link that is made there
	}
	return k.judge(to, from.kind())
}

// mayLeave refuses to move what is protected, or holds something that is.
func (k *Keeper) mayLeave(t *target) error {
	if t.held != nil || len(k.held[t.tree].below(t.rel)) > 0 || t.isDir() && strings.EqualFold(t.name, ".git") {
		return unix.EBUSY
	}
	tree := &k.conf.Trees[t.tree]
	switch v := k.verdict(t, t.kind()); {
	case v.Hold:
		return unix.EBUSY
	case v.Form != hostexec.FormAny:
		return unix.EXDEV
	}
	if t.isDir() && (k.carriesHeld(t, t) || k.nested[t.tree].Above(t.rel)) {
		return unix.EBUSY
	}
	if t.isDir() && k.tied(t) {
		return unix.EXDEV
	}
	if text, err := sys.ReadLink(t.dir, t.name); err == nil && text == Nowhere {
		return unix.EBUSY // another session's
	}
	if k.object(t) {
		return unix.EXDEV
	}
	whole := tree.Path + "/" + t.rel
	for i := range k.conf.Trees { // a tree in a tree
		if p := k.conf.Trees[i].Path; p == whole || strings.HasPrefix(p, whole+"/") {
			return unix.EBUSY
		}
	}
	for _, p := range tree.Pinned {
		if p == t.rel || strings.HasPrefix(p, t.rel+"/") {
			return unix.EBUSY
		}
	}
	return nil
}

func (w *work) moveOnHost(from, to *target, flags uint32) error {
	if to.is {
		if w.irreplaceable(to) {
			return unix.EBUSY
		}
		if err := w.conf.Store.Save(to.tree, to.rel, to.dir, to.name, undo.Remove); err != nil {
			return err
		}
	}
	if err := w.conf.Store.Renamed(from.tree, from.rel, to.tree, to.rel, from.isDir()); err != nil {
		return err
	}
	err := renameFound(from, to, flags)
	w.mine(to, err)
	w.locks(to, err)
	if err == nil && from.isDir() {
		w.made.carry(from, to)
	}
	if err != nil {
		if lost := w.conf.Store.NotRenamed(from.tree, from.rel, to.tree, to.rel); lost != nil {
			return lost
		}
	}
	return err
}

// renameFound renames to a name as it was found: where nothing was, somebody else may have
// put a lock since, or another session what its keeper has just judged.
func renameFound(from, to *target, flags uint32) error {
	if !to.is && flags == 0 {
		switch err := unix.Renameat2(from.dir, from.name, to.dir, to.name, unix.RENAME_NOREPLACE); err {
		case unix.EINVAL: // not every file system has it
		case unix.EEXIST:
			return errRetry
		default:
			return err
		}
	}
	return unix.Renameat2(from.dir, from.name, to.dir, to.name, uint(flags))
}

// maxCarried bounds the look into a directory that is to be moved.
const maxCarried = 4096

// carriesHeld says whether something in a directory would be protected at its new
// place.
func (k *Keeper) carriesHeld(from, to *target) bool {
	if !k.conf.Trees[to.tree].Rules.Below(to.rel) {
		return false
	}
	left := maxCarried
	return k.carries(to, from.dir, from.name, to.rel, &left)
}

func (k *Keeper) carries(to *target, dir int, name, rel string, left *int) bool {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	entries, err := readNames(fd)
	if err != nil {
		return true
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			return true
		}
		var st unix.Stat_t
		if unix.Fstatat(fd, e, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		dir := st.Mode&unix.S_IFMT == unix.S_IFDIR
		if k.verdict(&target{tree: to.tree, rel: join(rel, e)}, st.Mode&unix.S_IFMT).Hold {
			return true
		}
		if dir && k.carries(to, fd, e, join(rel, e), left) {
			return true
		}
	}
	return false
}

// maxLooked bounds the look into a directory that is to be moved.
const maxLooked = 1 << 16

// tied says whether something in a directory keeps it where it is.
//
// A file .git names a git directory that names the worktree again, by its path: were that
// moved, a link in its old place would lead git out of the tree whenever it is used in the
// new one. What stands for a held name of another session would not be found again by it.
// A file of secrets is masked by its place, and would not be in another where the
// next session does not look; what the session made itself, or is shown, may go.
func (k *Keeper) tied(t *target) bool {
	left := maxLooked
	return anyIn(t.dir, t.name, t.rel, &left, func(dir int, rel, name string) bool {
		if strings.EqualFold(name, ".git") {
			return true
		}
		if text, err := sys.ReadLink(dir, name); err != unix.EINVAL && (err != nil || text == Nowhere) {
			return true
		}
		if k.conf.Secret == nil || !k.conf.Secret(t.tree, rel) {
			return false
		}
		if n, _, ok := nodeAt(dir, name); ok && k.made.stillOwn(n, t.tree, rel, dir, name) {
			return false
		}
		return k.conf.Shown == nil || !k.conf.Shown(t.tree, rel)
	})
}

// anyIn asks about all that is in a directory and is none itself. What cannot be looked at
// counts, and what is past the bound.
func anyIn(dir int, name, rel string, left *int, is func(dir int, rel, name string) bool) bool {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	entries, err := f.ReadDir(*left + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return true
	}
	if *left -= len(entries); *left < 0 {
		return true
	}
	for _, e := range entries {
		below := join(rel, e.Name())
		if !e.IsDir() && is(fd, below, e.Name()) || e.IsDir() && anyIn(fd, e.Name(), below, left, is) {
			return true
		}
	}
	return false
}

// maxCopied bounds what is copied into the layer, where nothing else bounds it.
const maxCopied = 64 << 20

// copyIn is a rename of a file of the host onto a held name, as git does it with
// its config: the content goes into the layer, the file goes away.
func (k *Keeper) copyIn(from, to *target) error {
	if from.st.Size > maxCopied {
		return unix.EFBIG
	}
	in, err := openFile(from.dir, from.name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	src := os.NewFile(uintptr(in), from.name)
	defer src.Close()
	out, err := openFile(to.dir, to.name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	dst := os.NewFile(uintptr(out), to.name)
	defer dst.Close()
	if _, err := io.Copy(dst, io.LimitReader(src, maxCopied)); err != nil {
		return unix.EIO
	}
	if err := unix.Fchmod(out, from.st.Mode&0o777); err != nil {
		return err
	}
	if to.rel == to.held.root {
		to.held.shell.Store(false)
	}
	if err := k.conf.Store.Save(from.tree, from.rel, from.dir, from.name, undo.Remove); err != nil {
		return err
	}
	return unix.Unlinkat(from.dir, from.name, 0)
}

// link gives a file a second name. Neither name may be protected: by the other it
// could be written.
func (w *worker) link(oldfd int, old uint64, newfd int, new uint64, flags uint32) {
	w.answer(w.change(func() error {
		to, err := w.find(newfd, new, false)
		if err != nil {
			return err
		}
		from, err := w.linkSource(oldfd, old, flags)
		if errors.Is(err, errContinue) {
			return unix.EXDEV // from another file system, as far as the caller can see
		}
		if err != nil {
			return err
		}
		if w.ofHost(&from) != nil || w.isLock(&from) {
			return unix.EBUSY
		}
		if to.is {
			return unix.EEXIST
		}
		if from.held != nil && from.held == to.held && from.rel != from.held.root && to.rel != to.held.root {
			return unix.Linkat(from.dir, from.name, to.dir, to.name, 0)
		}
		if w.mayLeave(&from) != nil || w.judgeMove(&from, &to) != nil || to.held != nil {
			return unix.EXDEV
		}
		if err := w.conf.Store.Linked(from.tree, from.rel, to.tree, to.rel); err != nil {
			return err
		}
		if from.st.Nlink == 1 {
			w.links.add(&from)
		}
		err = unix.Linkat(from.dir, from.name, to.dir, to.name, 0)
		w.mine(&to, err)
		w.locks(&to, err)
		return err
	}))
}

// linkSource finds the file that gets another name. A file without any, opened
// with O_TMPFILE, is left to the kernel, and tools then use a name.
func (w *worker) linkSource(oldfd int, old uint64, flags uint32) (target, error) {
	if flags&unix.AT_EMPTY_PATH != 0 {
		return target{}, unix.EXDEV
	}
	t, err := w.find(oldfd, old, flags&unix.AT_SYMLINK_FOLLOW != 0)
	if err != nil {
		return t, err
	}
	if !t.is {
		return t, unix.ENOENT
	}
	if t.isDir() {
		return t, unix.EPERM
	}
	return t, nil
}
