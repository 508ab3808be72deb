package keeper

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// A file of variables, such as .env, is judged by content, and so it is held while
// somebody may write to it. Once nobody has it open to write and it makes no program run
// anything, it is brought to the host and is live from then on: people and tools of the
// host work with these files as the agent does. What does not pass stays held.
//
// What is brought over is a copy of what was judged, renamed over what stood there; with
// that the kernel takes away the mount that was over it inside.
type published struct {
	mu   sync.Mutex
	last time.Time
	wait map[*held]waiting
	wake chan struct{}
}

// waiting is one that was not brought over yet.
type waiting struct {
	tree   int
	was    unix.Stat_t // of the host's file when it was held
	judged unix.Stat_t // of the layer's when it was last judged, and did not pass
	held   hostexec.Verdict
}

// hopes notes a file that was just held and may be brought over later.
func (p *published) hopes(tree int, x *held, was unix.Stat_t, v hostexec.Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wait == nil {
		p.wait = map[*held]waiting{}
	}
	p.wait[x] = waiting{tree: tree, was: was, held: v}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// some says whether it is time to look at those that wait.
func (p *published) some() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.wait) == 0 || time.Since(p.last) < firstLook {
		return false
	}
	p.last = time.Now()
	return true
}

// tryPublish looks at them between calls, when nobody is in the way.
func (w *work) tryPublish() {
	defer w.closeAll()
	if w.names.TryLock() {
		defer w.names.Unlock()
		w.publish()
	}
}

// publish brings over what may be. The caller has names alone.
func (w *work) publish() {
	p := &w.public
	p.mu.Lock()
	defer p.mu.Unlock()
	for x, at := range p.wait {
		switch done, err := w.bringOver(x, &at); {
		case w.held[at.tree].at(x.root) != x:
			delete(p.wait, x)
		case err != nil:
			w.conf.Failed(err)
			delete(p.wait, x) // it goes on being held, and is judged at the end
		case done:
			delete(p.wait, x)
			w.held[at.tree].remove(x.root)
		default:
			p.wait[x] = at
		}
	}
}

// bringOver brings one over, if it may be and nobody has it open to write.
func (w *work) bringOver(x *held, at *waiting) (done bool, err error) {
	layer, own, err := w.parentIn(int(w.conf.Trees[at.tree].Layer.Fd()), x.inLayer())
	if err != nil || x.shell.Load() || x.masked {
		return false, nil
	}
	var st unix.Stat_t
	if unix.Fstatat(layer, own, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o7777&^0o775 != 0 || sameState(&st, &at.judged) {
		return false, nil
	}
	host, name, err := w.parentIn(int(w.conf.Trees[at.tree].Host.Fd()), x.root)
	if err != nil {
		return false, nil
	}
	old, as := asHeld(x, at, host, name)
	if !as {
		return false, nil
	}
	fd, err := openFile(layer, own, unix.O_RDONLY, 0)
	if err != nil {
		return false, nil
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if lease(fd) != nil {
		return false, nil // somebody may write more
	}
	content, err := io.ReadAll(io.LimitReader(f, hostexec.MaxEnv+1))
	if err != nil || hostexec.FitsAfter(hostexec.FormEnv, old, content, nil) != nil {
		if at.judged == (unix.Stat_t{}) && w.conf.Held != nil {
			w.conf.Held(at.tree, x.root, at.held)
		}
		at.judged = st
		return false, nil
	}
	if !x.new && bytes.Equal(content, old) && st.Mode&0o777 == at.was.Mode&0o777 {
		return true, w.letGo(x, at.tree, layer, own) // who opened it changed nothing, or has not yet
	}
	t := &target{dir: host, name: name, tree: at.tree, rel: x.root}
	if x.new {
		err = w.conf.Store.Created(at.tree, x.root, false)
	} else {
		err = w.conf.Store.Save(at.tree, x.root, host, name, undo.Replace)
	}
	if err != nil {
		return false, err
	}
	temp, err := w.write(t, content, st.Mode&0o777)
	if err != nil {
		return false, err
	}
	if done, err = take(t, temp, func() bool { return stoodThere(x, at, host, temp) }); !done || err != nil {
		return false, err
	}
	w.mine(t, nil)
	return true, unix.Unlinkat(layer, own, 0)
}

// letGo ends the holding of one that is as the host has it, which stays untouched.
func (w *work) letGo(x *held, tree, layer int, own string) error {
	if err := w.release(tree, x); err != nil {
		return err
	}
	return unix.Unlinkat(layer, own, 0)
}

// asHeld reads what the host has, and says whether it is what it had when it was held:
// what somebody else put there meanwhile is theirs.
func asHeld(x *held, at *waiting, dir int, name string) (old []byte, as bool) {
	if x.new {
		text, err := sys.ReadLink(dir, name)
		return nil, err == nil && text == Nowhere
	}
	fd, err := openFile(dir, name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, false
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || !sameState(&st, &at.was) {
		return nil, false
	}
	old, err = io.ReadAll(io.LimitReader(f, hostexec.MaxEnv+1))
	return old, err == nil
}

// stoodThere says whether what was taken away is what was compared: who wrote to it in
// between gets it back.
func stoodThere(x *held, at *waiting, dir int, name string) bool {
	if x.new {
		text, err := sys.ReadLink(dir, name)
		return err == nil && text == Nowhere
	}
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && unwritten(&st, &at.was)
}

// unwritten leaves out the time of the last change, which a rename is as well.
func unwritten(a, b *unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mtim == b.Mtim && a.Mode == b.Mode
}

func sameState(a, b *unix.Stat_t) bool { return unwritten(a, b) && a.Ctim == b.Ctim }

// write writes a file of the host under a name beside its own, and syncs it. That name is
// noted before, so that whoever tidies up after a session that was killed finds it.
func (w *work) write(t *target, content []byte, mode uint32) (temp string, err error) {
	temp = meanwhile()
	if err := w.stand.note(standIn{Tree: []byte(w.conf.Trees[t.tree].Path), Rel: []byte(join(parentOf(t.rel), temp))}); err != nil {
		return temp, err
	}
	fd, err := unix.Openat(t.dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return temp, err
	}
	w.recent.add(fd)
	f := os.NewFile(uintptr(fd), temp)
	_, err = f.Write(content)
	if err = errors.Join(err, unix.Fchmod(fd, mode), f.Sync(), f.Close()); err != nil {
		return temp, errors.Join(err, unix.Unlinkat(t.dir, temp, 0))
	}
	return temp, nil
}

// take puts temp in the place of the file, and takes away what was there if that is what
// was expected. It exchanges them: a rename takes away the mount over what it replaces
// some milliseconds before the new file is there, and who reads inside finds in between
// what was below it, which is nothing or what the host had.
//
// Left at risk: where a file system cannot exchange names, that moment stays, and so does
// what somebody writes in it.
func take(t *target, temp string, expected func() bool) (done bool, err error) {
	swap := func() error { return unix.Renameat2(t.dir, temp, t.dir, t.name, unix.RENAME_EXCHANGE) }
	switch err = swap(); {
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		done, err = true, unix.Renameat(t.dir, temp, t.dir, t.name)
	case err == nil && expected():
		return true, unix.Unlinkat(t.dir, temp, 0) // and with it the mount
	case err == nil:
		if err = swap(); errors.Is(err, unix.ENOENT) { // somebody took ours away
			return false, unix.Renameat2(t.dir, temp, t.dir, t.name, unix.RENAME_NOREPLACE)
		}
		if err != nil {
			return false, err // temp is theirs
		}
	}
	if !done || err != nil {
		err = errors.Join(err, unix.Unlinkat(t.dir, temp, 0))
	}
	return done, err
}

// becoming begins the names of what may become live.
const becoming = reserved + "env-"

func meanwhile() string {
	var b [8]byte
	rand.Read(b[:])
	return becoming + hex.EncodeToString(b[:])
}

// copyHost gives a held file of the layer what the host has. The caller has names alone.
func (w *work) copyHost(tree int, x *held, dir int, name string) error {
	in, err := openFile(dir, name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	src := os.NewFile(uintptr(in), name)
	defer src.Close()
	var st unix.Stat_t
	if err := unix.Fstat(in, &st); err != nil {
		return err
	}
	if st.Size > maxCopied {
		return unix.EFBIG
	}
	layer, own, err := w.parentIn(int(w.conf.Trees[tree].Layer.Fd()), x.inLayer())
	if err != nil {
		return err
	}
	out, err := unix.Openat(layer, own, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	dst := os.NewFile(uintptr(out), own)
	_, err = io.Copy(dst, io.LimitReader(src, maxCopied))
	return errors.Join(err, unix.Fchmod(out, st.Mode&0o777), dst.Close())
}

// toPlace puts what did not become live where the review looks for it. Nobody is left
// inside. A session that was killed before leaves it under its name of ours.
func (k *Keeper) toPlace(tree int, x *held) error {
	if x.file == "" {
		return nil
	}
	top := int(k.conf.Trees[tree].Layer.Fd())
	dir, err := openDir(top, parentOf(x.root))
	if err != nil {
		return fmt.Errorf("held %s: %w", x.root, err)
	}
	defer unix.Close(dir)
	from, err := openDir(top, "")
	if err != nil {
		return fmt.Errorf("held %s: %w", x.root, err)
	}
	defer unix.Close(from)
	if err := unix.Renameat(from, x.file, dir, nameOf(x.root)); err != nil {
		return fmt.Errorf("held %s: %w", x.root, err)
	}
	return nil
}

func nameOf(rel string) string { return rel[strings.LastIndexByte(rel, '/')+1:] }

// watchPublic looks at those that wait while nobody calls. Its thread is as weak as the
// agent, and is given up with it.
func (k *Keeper) watchPublic(end <-chan struct{}) {
	runtime.LockOSThread()
	if err := confine(); err != nil {
		k.conf.Failed(err)
		return
	}
	w := &work{Keeper: k}
	for wait := firstLook; ; {
		k.public.mu.Lock()
		some := len(k.public.wait) > 0
		k.public.mu.Unlock()
		var next <-chan time.Time
		if some {
			next = time.After(wait)
		}
		select {
		case <-end:
			return
		case <-k.public.wake:
			wait = firstLook
		case <-next:
			w.tryPublish()
			wait = min(2*wait, lastLook)
		}
	}
}
