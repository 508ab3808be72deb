package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// newSeal is the directory in which key and register are made.
const newSeal = ".new-seal"

// openSeal loads the key that belongs to the journals in dir, and makes it when there
// is none. Key, register and anchor come to be at once: where one of them is, and
// another is not, it was taken away.
func openSeal(dir string) (*Seal, error) {
	place := sealDir(dir)
	key, err := loadKey(place)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := found(dir, place); err != nil {
		return nil, err
	}
	return openKey(place) // it makes a key where only that is gone
}

// found makes the directory whole, or not at all where there is something already.
// Sessions that begin at once take turns at the directory of the journals; others may
// hold the one above.
func found(dir, place string) error {
	turn, err := file.LockDir(dir, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer turn.Close()
	state := filepath.Dir(place)
	d, err := os.Open(state)
	if err != nil {
		return err
	}
	defer d.Close()
	if there, err := os.ReadDir(place); len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp := filepath.Join(state, newSeal)
	if err := os.RemoveAll(tmp); err != nil { // what one that was killed has left
		return err
	}
	key, err := openKey(tmp)
	if err == nil {
		err = putAnchor(tmp, key, Anchor{})
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(tmp, registerName), nil, 0o600)
	}
	if err == nil {
		err = syncAll(tmp)
	}
	if err == nil {
		err = os.Rename(tmp, place)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return d.Sync()
}

// syncAll brings what was made in dir to the disk: a crash must not look like a theft.
func syncAll(dir string) (err error) {
	for _, name := range []string{anchorName, registerName, "."} {
		f, e := os.Open(filepath.Join(dir, name))
		if e == nil {
			e = errors.Join(f.Sync(), f.Close())
		}
		err = errors.Join(err, e)
	}
	return err
}
