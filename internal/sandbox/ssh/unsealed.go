package ssh

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// A far end that is killed, that finds no room, or whose sandbox does not end in time, seals
// nothing. What its session changed then lies where it was made, readable for who has this
// machine, and is given from there. The person is told that it was not sealed.

// layers is where the layers of a session are made that may be left here, and trial where
// those are that nobody fetches.
func (w *work) layers() string { return filepath.Join(w.dir, "layers") }
func (w *work) trial() string  { return filepath.Join(w.dir, "trial") }

// errNone: nothing of a session is here.
var errNone = errors.New("nothing is left")

// errRuns: layers that may still change are not sealed.
var errRuns = errors.New("the sandbox has not ended")

// unsealed lists the layers of a session as they lie, in their order.
func (w *work) unsealed() (dirs []string) {
	for n := 0; ; n++ {
		dir := far.LayerDir(w.layers(), n)
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
			return dirs
		}
		dirs = append(dirs, dir)
	}
}

// state is what is here of a session that does not stay any more.
func (w *work) state() string {
	if _, err := os.Lstat(w.left()); err == nil {
		return stateLeft
	}
	if len(w.unsealed()) > 0 {
		return stateUnsealed
	}
	return stateGone
}

// expire removes what is here of a session whose far end was killed or sealed nothing, but for
// its layers: they stay for keptFor from when they were first found so. The door tells that:
// it goes then, which needs no room. The caller has the lock.
func (w *work) expire() {
	if w.state() != stateUnsealed {
		file.RemoveTree(w.dir)
		return
	}
	if os.Remove(filepath.Join(w.dir, "door")) != nil {
		if st, err := os.Lstat(w.dir); err == nil && time.Since(st.ModTime()) > keptFor {
			file.RemoveTree(w.dir)
		}
		return
	}
	for _, name := range []string{"trees", "sealed", "trial", filepath.Join("layers", "own")} {
		file.RemoveTree(filepath.Join(w.dir, name))
	}
	touch(w.dir)
}

// giveUnsealed sends the layers of a session as they lie. Nobody sweeps them meanwhile. Each
// is read twice, because its size is told first; one that changes between is refused there.
func (w *work) giveUnsealed(ends io.Writer) error {
	dirs := w.unsealed()
	if w.lock == nil || len(dirs) == 0 {
		return errNone
	}
	if err := file.Lock(int(w.lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return err
	}
	says := left{Unsealed: true}
	for _, dir := range dirs {
		var n counted
		if err := (&upper.Source{Dir: dir}).Send(&n, 0, true); err != nil {
			return err
		}
		says.Sizes = append(says.Sizes, int64(n))
	}
	if err := writeFrame(ends, answer{Left: &says}); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := (&upper.Source{Dir: dir}).Send(ends, 0, true); err != nil {
			return err
		}
	}
	return nil
}

// counted is how many bytes were written.
type counted int64

func (c *counted) Write(b []byte) (int, error) {
	*c += counted(len(b))
	return len(b), nil
}
