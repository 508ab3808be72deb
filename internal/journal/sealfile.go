package journal

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// keyName is the file of the key in its directory.
const keyName = "key"

const keyIntro = "ringfence-seal-1 "

// form of the file: the seed in one line, and nothing else.
var keyFileLen = len(keyIntro) + base64.StdEncoding.EncodedLen(ed25519.SeedSize) + len("\n")

// openKey loads the key in dir, and makes it when there is none.
func openKey(dir string) (*Seal, error) {
	s, err := loadKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the key of this host: %w", err)
	}
	if err := createKey(dir); err != nil {
		return nil, fmt.Errorf("make the key of this host: %w", err)
	}
	return loadKey(dir)
}

// createKey makes the file whole or not at all. Sessions that begin at once take turns,
// and the key is that of the first.
func createKey(dir string) error {
	if err := checkPlace(dir); err != nil {
		return err
	}
	d, err := file.LockDir(dir, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := os.Lstat(filepath.Join(dir, keyName)); err == nil {
		return nil
	}
	// What one that was killed has left.
	old, err := filepath.Glob(filepath.Join(dir, file.Temporary+"*"))
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return err
	}
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails: without randomness the program ends
	return file.Replace(filepath.Join(dir, keyName), []byte(keyIntro+base64.StdEncoding.EncodeToString(seed)+"\n"), 0o600)
}

// loadKey reads the key in dir. A file that others can read or change is not taken:
// what it signs would be worth nothing.
func loadKey(dir string) (*Seal, error) {
	path := filepath.Join(dir, keyName)
	if err := checkPlace(dir); err != nil {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return nil, fault.New(fault.Refused, fmt.Sprintf("chmod 600 %q, if it is yours; it must be a file", path), "the key of this host, %q, is not a file of yours alone", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(keyFileLen)+1))
	if err != nil {
		return nil, fmt.Errorf("read the key of this host: %w", err)
	}
	seed, err := parseKey(b)
	if err != nil {
		return nil, fault.New(fault.Refused, fmt.Sprintf("move %q away: a new key is made, and what the old one signed can no longer be verified", path),
			"the key of this host, %q, %w", path, err)
	}
	return fromSeed(seed), nil
}

var errKeyForm = errors.New("is not in the form that is written")

// parseKey takes exactly what create writes.
func parseKey(b []byte) ([]byte, error) {
	text, ok := strings.CutPrefix(string(b), keyIntro)
	if !ok || len(b) != keyFileLen {
		return nil, errKeyForm
	}
	seed, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(text, "\n"))
	if err != nil || len(seed) != ed25519.SeedSize || keyIntro+base64.StdEncoding.EncodeToString(seed)+"\n" != string(b) {
		return nil, errKeyForm
	}
	return seed, nil
}

// checkPlace refuses a directory in which others could change names.
func checkPlace(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return fault.New(fault.Refused, fmt.Sprintf("set XDG_STATE_HOME to a directory of your own, or: chmod go-w %q", dir),
			"%q belongs to or can be changed by others", dir)
	}
	return nil
}
