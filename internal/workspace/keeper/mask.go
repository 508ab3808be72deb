package keeper

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Cover is what became of a file that was to be masked.
type Cover int

// The covers.
const (
	Covered Cover = iota // it shows phantoms, or what the agent made of them
	Gone                 // there is no such file
	Own                  // the session made it
)

// Mask makes a file of the host private and gives it other content inside. It may be
// called again whenever the file changed: a mount goes with the file that it is over, so
// what the host puts in its place by rename has to be covered anew.
func (k *Keeper) Mask(tree int, rel string, data []byte) (Cover, error) {
	w := &work{Keeper: k}
	defer w.closeAll()
	w.names.Lock() // what the session is making just now is noted then
	defer w.names.Unlock()
	t := &k.conf.Trees[tree]
	dir, name, err := w.parentIn(int(t.Host.Fd()), rel)
	if gone(err) {
		return Gone, nil
	}
	if err != nil {
		return Covered, err
	}
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case gone(err) || err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG:
		return Gone, nil
	case err != nil:
		return Covered, err
	}
	if n, _, ok := nodeAt(dir, name); ok && k.made.stillOwn(n, tree, rel, dir, name) {
		return Own, nil
	}
	x := k.held[tree].at(rel)
	switch {
	case x != nil && x.root != rel:
		return Covered, w.maskBelow(tree, rel, data)
	case t.Layer == nil:
		return Covered, errors.New("there is no layer")
	}
	bare, err := w.bare(tree, rel)
	if err != nil || !bare && x == nil { // a mount of the launch is over it
		return Covered, err
	}
	return Covered, w.maskWhole(tree, rel, x, bare, data)
}

func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

func unlessGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// Bare says whether the sandbox sees a file as the host has it, as far as can be told.
func (k *Keeper) Bare(tree int, rel string) bool {
	w := &work{Keeper: k}
	defer w.closeAll()
	k.names.RLock()
	defer k.names.RUnlock()
	bare, err := w.bare(tree, rel)
	return bare || err != nil
}

// bare says whether the sandbox sees the host's own file at rel.
func (w *work) bare(tree int, rel string) (bool, error) {
	in, _, err := w.parentIn(w.inner[tree], rel)
	if err != nil {
		return false, unlessGone(err) // it is hidden with what is above it
	}
	out, name, err := w.parentIn(int(w.conf.Trees[tree].Host.Fd()), rel)
	if err != nil {
		return false, err
	}
	var a, b unix.Stat_t
	if err := errors.Join(unix.Fstatat(in, name, &a, unix.AT_SYMLINK_NOFOLLOW), unix.Fstatat(out, name, &b, unix.AT_SYMLINK_NOFOLLOW)); err != nil {
		return false, unlessGone(err)
	}
	return a.Dev == b.Dev && a.Ino == b.Ino, nil
}

// maskWhole puts phantoms into the layer and the layer over the file. In the layer
// first: once it is mounted, it is seen. What the agent made of earlier ones is its own.
func (w *work) maskWhole(tree int, rel string, x *held, bare bool, data []byte) error {
	at := rel
	if x != nil {
		at = x.inLayer()
	}
	dir, name, err := w.parentIn(int(w.conf.Trees[tree].Layer.Fd()), at)
	if err != nil {
		return err
	}
	if x == nil || x.masked && untouched(x, dir, name) {
		if err := fill(dir, name, data); err != nil {
			return err
		}
		if x != nil {
			x.shown = digest(data)
		}
	}
	switch {
	case x == nil:
		x = &held{root: rel, masked: true, shown: digest(data)}
		if err := w.cover(tree, x); err != nil {
			return err
		}
		w.held[tree].add(x)
		return nil
	case bare:
		return w.cover(tree, x)
	}
	return nil
}

// untouched says whether the layer still has what was put there.
func untouched(x *held, dir int, name string) bool {
	if x.shell.Load() {
		return false
	}
	fd, err := openFile(dir, name, unix.O_RDONLY, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(f, maxCopied))
	return err == nil && bytes.Equal(h.Sum(nil), x.shown)
}

func digest(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// fill writes a file that is there.
func fill(dir int, name string, data []byte) error {
	fd, err := openFile(dir, name, unix.O_WRONLY|unix.O_TRUNC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// MaskAt puts data over a file that lies in no tree, read-only. The bytes lie in the
// layer of some tree, under a name that goes once they are mounted: of a file that has
// no name the kernel makes no mount.
func (k *Keeper) MaskAt(path string, data []byte) (Cover, error) {
	w := &work{Keeper: k}
	defer w.closeAll()
	dst, cover, err := bareAt(k.root, path)
	if err != nil || dst < 0 {
		return cover, err
	}
	w.own(dst)
	for i := range k.conf.Trees {
		if k.conf.Trees[i].Layer == nil {
			continue
		}
		dir, _, err := w.parentIn(int(k.conf.Trees[i].Layer.Fd()), reserved)
		if err != nil {
			return Covered, err
		}
		return Covered, w.attachCopy(dir, dst, data)
	}
	return Covered, shut(k.spaces, k.root, dst)
}

// ShutAt makes a file that lies in no tree unreadable in the sandbox of a process. It is
// for sessions without a keeper, which have nowhere to put phantoms.
func ShutAt(pid int, path string) (Cover, error) {
	k := &Keeper{conf: Config{PID: pid}, root: -1, proc: -1, spaces: sys.Namespaces{User: -1, Mount: -1}}
	defer k.release()
	if err := k.enter(); err != nil {
		return Covered, err
	}
	dst, cover, err := bareAt(k.root, path)
	if err != nil || dst < 0 {
		return cover, err
	}
	defer unix.Close(dst)
	return Covered, shut(k.spaces, k.root, dst)
}

// shut puts a device over a file where no device can be opened.
func shut(spaces sys.Namespaces, root, dst int) error {
	src, err := sys.OpenBeneath(root, "dev/null")
	if err != nil {
		return err
	}
	defer unix.Close(src)
	return spaces.AttachIn(src, dst, true)
}

// BareAt says of a file that lies in no tree whether a sandbox with this root sees the
// host's own, as far as can be told.
func BareAt(root int, path string) bool {
	dst, _, err := bareAt(root, path)
	if dst >= 0 {
		unix.Close(dst)
	}
	return dst >= 0 || err != nil
}

// bareAt opens the host's own file where the sandbox sees that; it is -1 elsewhere.
func bareAt(root int, path string) (dst int, cover Cover, err error) {
	var host, inside unix.Stat_t
	switch err := unix.Lstat(path, &host); {
	case gone(err) || err == nil && host.Mode&unix.S_IFMT != unix.S_IFREG:
		return -1, Gone, nil
	case err != nil:
		return -1, Covered, err
	}
	dst, err = sys.OpenBeneath(root, strings.TrimPrefix(path, "/"))
	if gone(err) {
		return -1, Gone, nil // it is not shown
	}
	if err != nil {
		return -1, Covered, err
	}
	if err := unix.Fstat(dst, &inside); err != nil || inside.Dev != host.Dev || inside.Ino != host.Ino {
		unix.Close(dst)
		return -1, Covered, err
	}
	return dst, Covered, nil
}

// attachCopy puts data over a file, read-only. Meanwhile it has a name in a layer.
func (w *work) attachCopy(layer, dst int, data []byte) error {
	var b [8]byte
	rand.Read(b[:])
	name := reserved + "mask-" + hex.EncodeToString(b[:])
	fd, err := unix.Openat(layer, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		var src int
		if src, err = sys.OpenBeneath(layer, name); err == nil {
			err = w.spaces.AttachIn(w.own(src), dst, true)
		}
	}
	return errors.Join(err, unix.Unlinkat(layer, name, 0))
}

// maskBelow masks a file in a directory that is private: in the layer, where it is not
// the agent's by now. The caller has names alone.
func (w *work) maskBelow(tree int, rel string, data []byte) error {
	var fds [2]int
	for i, root := range []*os.File{w.conf.Trees[tree].Host, w.conf.Trees[tree].Layer} {
		dir, name, err := w.parentIn(int(root.Fd()), rel)
		if err == nil {
			fds[i], err = openFile(dir, name, []int{unix.O_RDONLY, unix.O_RDWR}[i], 0)
		}
		if gone(err) {
			return nil // it was deleted inside, or is not there any more
		}
		if errors.Is(err, unix.EROFS) {
			return nil // a mask of the launch
		}
		if err != nil {
			return err
		}
		w.own(fds[i])
	}
	same, err := sameContent(fds[0], fds[1])
	if err != nil || !same {
		return err
	}
	if err := unix.Ftruncate(fds[1], 0); err != nil {
		return err
	}
	_, err = unix.Pwrite(fds[1], data, 0)
	return err
}

// sameContent compares two files.
func sameContent(a, b int) (bool, error) {
	var bufs [2][32 << 10]byte
	for at := int64(0); ; {
		n, err := unix.Pread(a, bufs[0][:], at)
		if err != nil {
			return false, err
		}
		m, err := unix.Pread(b, bufs[1][:], at)
		if err != nil || n != m || !bytes.Equal(bufs[0][:n], bufs[1][:m]) {
			return false, err
		}
		if n == 0 {
			return true, nil
		}
		at += int64(n)
	}
}

// pinned is for a path that a rule of the user names: the kernel finds the mount there.
// A file that shows phantoms is one that can be changed inside, in private.
func (k *Keeper) pinned(t *target) error {
	if _, ok := k.conf.Trees[t.tree].Masked[t.rel]; ok && k.conf.Trees[t.tree].Layer != nil {
		return &needHold{tree: t.tree, root: t.rel, masked: true}
	}
	return errContinue
}

// holdMasked makes a file private over which the launch put phantoms. The layer is
// mounted over that mount, which stays: the host's file is not seen in between. The
// caller has names alone.
func (w *work) holdMasked(tree int, rel string) error {
	t := &w.conf.Trees[tree]
	data := t.Masked[rel]
	up, name, err := w.parentIn(w.inner[tree], rel)
	if err != nil {
		return unix.EBUSY
	}
	host, _, err := w.parentIn(int(t.Host.Fd()), rel)
	if err != nil {
		return unix.EBUSY
	}
	if same, err := sameNode(up, host); err != nil || !same {
		return unix.EBUSY
	}
	layer, _, err := w.parentIn(int(t.Layer.Fd()), rel)
	if err != nil {
		return err
	}
	if err := fill(layer, name, data); err != nil {
		return err
	}
	src, err := sys.OpenBeneath(layer, name)
	if err != nil {
		return err
	}
	dst, err := sys.OpenBeneath(up, name)
	if err != nil {
		unix.Close(src)
		return err
	}
	if err := w.spaces.AttachIn(w.own(src), w.own(dst), false); err != nil {
		return err
	}
	w.held[tree].add(&held{root: rel, masked: true, shown: digest(data)})
	return nil
}
