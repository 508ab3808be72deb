package ssh

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/envelope"
	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// What a session changed waits in a directory of its own, each layer sealed to a key that is
// not on this machine.

// waiting is where all of it is. What nobody fetches is removed with the next session that
// begins here after keptFor.
func (w *work) waiting() string { return filepath.Join(w.cache, "waiting") }

func (w *work) left() string { return filepath.Join(w.waiting(), filepath.Base(w.dir)) }

// purpose binds a sealed layer to its session and its place.
func purpose(session string, n, of int) string {
	return fmt.Sprintf("ringfence layer %d of %d of %s", n, of, session)
}

// leave leaves what the near end has not got. An error says that it is not sealed, and has to
// stay where it is.
func (w *work) leave(t *terms, layers []string, ended bool) error {
	switch {
	case t.Keep < 0:
		return nil
	case !ended:
		return errRuns
	}
	return w.seal(t.Seal, layers)
}

// seal leaves the layers of a session. All of them are there, or none is: then they are given
// from where they are.
func (w *work) seal(key []byte, layers []string) error {
	next := filepath.Join(w.dir, "sealed")
	err := os.MkdirAll(w.waiting(), 0o700)
	if err == nil {
		err = os.Mkdir(next, 0o700)
	}
	for n, dir := range layers {
		if err == nil {
			err = sealOne(filepath.Join(next, strconv.Itoa(n)), key, purpose(filepath.Base(w.dir), n, len(layers)), dir)
		}
	}
	if err == nil {
		err = os.Rename(next, w.left())
	}
	if err != nil {
		file.RemoveTree(next)
	}
	return err
}

func sealOne(path string, key []byte, purpose, dir string) error {
	return file.ReplaceWith(path, 0o600, func(f *os.File) error {
		to, err := envelope.Seal(f, key, purpose)
		if err != nil {
			return err
		}
		if err := (&upper.Source{Dir: dir}).Send(to, 0, true); err != nil {
			return err
		}
		return to.Close()
	})
}

// give gives what a session left, and removes it when it is told that all of it came.
func give(ends io.ReadWriteCloser, home string, o order) error {
	w, err := named(home, o.Session)
	if err != nil {
		return err
	}
	stays, err := w.find()
	switch {
	case err != nil:
		return err
	case stays && !o.Wait:
		if err := writeFrame(ends, answer{State: stateLives}); err != nil {
			return err
		}
		return w.lead(ends)
	case stays: // until it has ended
		if err := file.Lock(int(w.lock.Fd()), unix.LOCK_SH); err != nil {
			return err
		}
	}
	switch err := w.giveLeft(ends); {
	case errors.Is(err, errNone):
		return writeFrame(ends, answer{State: stateGone})
	case err != nil:
		return err
	}
	body, err := readFrame(ends, maxReady)
	var then order
	if err == nil {
		err = json.Unmarshal(body, &then)
	}
	if err != nil || then.Do != doForget {
		return nil // it did not come as it should: it is kept
	}
	if err := errors.Join(file.RemoveTree(w.left()), file.RemoveTree(w.dir)); err != nil {
		return err
	}
	return writeFrame(ends, answer{State: stateGone})
}

// giveLeft sends what a session left: sealed, or what could not be as it lies.
func (w *work) giveLeft(ends io.Writer) error {
	files, sizes, err := openLeft(w.left())
	if errors.Is(err, fs.ErrNotExist) {
		return w.giveUnsealed(ends)
	}
	if err != nil {
		return err
	}
	if err := writeFrame(ends, answer{Left: &left{Sizes: sizes}}); err != nil {
		return err
	}
	for i, f := range files {
		if _, err := io.CopyN(struct{ io.Writer }{ends}, f, sizes[i]); err != nil {
			return err
		}
	}
	return nil
}

// openLeft opens the layers that a session left, in their order.
func openLeft(dir string) (files []*os.File, sizes []int64, err error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for n := range names {
		f, err := os.Open(filepath.Join(dir, strconv.Itoa(n)))
		if err != nil {
			return nil, nil, err
		}
		st, err := f.Stat()
		if err != nil {
			return nil, nil, err
		}
		files, sizes = append(files, f), append(sizes, st.Size())
	}
	return files, sizes, nil
}
