package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
)

// ProjectFile is the name of a project's own policy.
const ProjectFile = ".ringfence.toml"

// Load reads the policy file at path, which must be ours or the system's, all the way
// down: nobody else says what is shown of our files. It returns nil without an error
// only if nothing is there: what is there and cannot be used never turns into defaults.
// Symlinks are followed, since people link their configuration from elsewhere.
func Load(path string) (*Policy, error) {
	if _, err := sys.Owned(path); err != nil {
		if foreign := (*sys.Foreign)(nil); errors.As(err, &foreign) {
			return nil, fault.New(fault.Refused, foreign.Hint(), "policy %s is not yours alone: %w", printable(path), err)
		}
		return nil, readError(path, err)
	}
	return LoadNamed(path)
}

// LoadNamed reads the policy file that a person named, whoever owns it.
func LoadNamed(path string) (*Policy, error) {
	data, err := readRegular(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(path); lerr == nil {
			return nil, fault.New(fault.Usage, "", "%s is a symlink to nothing", printable(path))
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decode(data, path)
}

// LoadProject reads the policy of the project at dir, if it has one. The digest is
// of the very bytes that were decoded: the file may change while this runs. A
// symlink is refused, because trust in a project's file must not become trust in
// whatever it points at next.
func LoadProject(dir string) (p *Policy, digest string, err error) {
	data, err := readRegular(filepath.Join(dir, ProjectFile), unix.O_NOFOLLOW)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if p, err = decodeLayer(data, ProjectFile, true); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(data)
	return p, hex.EncodeToString(sum[:]), nil
}

// readRegular reads a regular file, at most one byte more than decode takes.
// O_NONBLOCK keeps a fifo from holding up the launch.
func readRegular(path string, flags int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|flags, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, fault.New(fault.Usage, "replace the link by a file", "%s is a symlink", printable(path))
	}
	if err != nil {
		return nil, readError(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, readError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Usage, "", "%s is not a regular file (%s)", printable(path), info.Mode().Type())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, readError(path, err)
	}
	return data, nil
}

// readError names the path once and escaped: the error of package os holds it raw.
func readError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("read policy %s: %w", printable(path), err)
}
