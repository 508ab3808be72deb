package keeper

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Neutral puts data over a file of a tree, read-only, where the sandbox sees the file as
// the host has it. It reports whether it had to: what stands for the file already, and
// what the session made of it, stays.
func (k *Keeper) Neutral(tree int, rel string, data []byte) (put bool, err error) {
	w := &work{Keeper: k}
	defer w.closeAll()
	w.names.Lock()
	defer w.names.Unlock()
	t := &k.conf.Trees[tree]
	host, name, err := w.parentIn(int(t.Host.Fd()), rel)
	if err != nil {
		return false, unlessGone(err)
	}
	up, _, err := w.parentIn(w.inner[tree], rel)
	if err != nil {
		return false, unlessGone(err)
	}
	same, err := sameFile(host, up, name)
	if err != nil || !same {
		return false, err
	}
	if x := k.held[tree].at(rel); x != nil && x.root == rel {
		// The session has one of its own. Where that is over the host's, it has the same in it.
		bare, err := w.bare(tree, rel)
		if err != nil || !bare {
			return false, err
		}
		return false, w.cover(tree, x)
	}
	dst, err := sys.OpenBeneath(up, name)
	if err != nil {
		return false, unlessGone(err)
	}
	w.own(dst)
	if t.Layer == nil {
		return true, shut(k.spaces, k.root, dst)
	}
	layer, _, err := w.parentIn(int(t.Layer.Fd()), reserved)
	if err != nil {
		return false, err
	}
	return true, w.attachCopy(layer, dst, data)
}

// NeutralAt makes a file unreadable in the sandbox of a process, where that sees it as the
// host has it. It is for sessions without a keeper, which have nowhere to put another.
func NeutralAt(pid int, path string) (put bool, err error) {
	w := &work{Keeper: &Keeper{conf: Config{PID: pid}, root: -1, proc: -1, spaces: sys.Namespaces{User: -1, Mount: -1}}}
	defer w.Keeper.release()
	defer w.closeAll()
	if err := w.Keeper.enter(); err != nil {
		return false, err
	}
	up, name, err := w.parentIn(w.root, strings.TrimPrefix(path, "/"))
	if err != nil {
		return false, unlessGone(err)
	}
	host, err := unix.Open(parentOf(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, unlessGone(err)
	}
	same, err := sameFile(w.own(host), up, name)
	if err != nil || !same {
		return false, err
	}
	dst, err := sys.OpenBeneath(up, name)
	if err != nil {
		return false, unlessGone(err)
	}
	return true, shut(w.spaces, w.root, w.own(dst))
}

// sameFile says whether two directories have the same file at a name, or one with the same
// content: what overlayfs shows of the host is another file to the kernel. What cannot be
// read inside shows nothing.
func sameFile(host, inside int, name string) (bool, error) {
	a, err := openFile(host, name, unix.O_RDONLY, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil // a link, no file, or one that nobody reads
	}
	if err != nil {
		return false, unlessGone(err)
	}
	f := os.NewFile(uintptr(a), name)
	defer f.Close()
	b, err := openFile(inside, name, unix.O_RDONLY, 0)
	if err != nil {
		return false, nil
	}
	g := os.NewFile(uintptr(b), name)
	defer g.Close()
	if same, err := sameNode(a, b); err == nil && same {
		return true, nil
	}
	return sameContent(a, b)
}
