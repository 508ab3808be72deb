// Package debian makes things for tests out of packages of Debian's archive, and keeps them
// between runs. It needs no root: any user may download a package.
package debian

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Product is a file or a directory, made of packages of Debian's archive.
type Product struct {
	Identify func() (name string, err error) // by the newest versions that the package lists name
	Make     func(dir, into string) error    // as identified last
}

// shared is where root keeps products between runs, for everybody.
const shared = "/var/cache/ringfence-test"

// Get returns the product, made now if it is not kept from before.
func (p Product) Get(t *testing.T) string {
	t.Helper()
	path, err := p.Path()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Path is Get where there is no test yet.
func (p Product) Path() (string, error) {
	dirs := []string{shared}
	if os.Getuid() != 0 {
		own, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dirs = append(dirs, filepath.Join(own, "ringfence-test"))
	}
	name, err := p.Identify()
	path := find(dirs, name)
	if path == "" && os.Getuid() == 0 {
		// An archive keeps its newest versions alone, and old lists name others.
		Output("", "apt-get", "-qq", "update") // if it fails, what follows says so
		name, err = p.Identify()
		path = find(dirs, name)
	}
	if err == nil && path == "" {
		path, err = p.keep(dirs[len(dirs)-1], name)
	}
	if err != nil {
		return "", fmt.Errorf("%w; if the package lists are old or missing: as root, apt-get update", err)
	}
	return path, nil
}

func find(dirs []string, name string) string {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// keep makes the product, complete or not at all.
func (p Product) keep(cache, name string) (string, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	made, path := filepath.Join(dir, "made"), filepath.Join(cache, name)
	if err := p.Make(dir, made); err != nil {
		return "", err
	}
	err = os.Rename(made, path)
	if err != nil && find([]string{cache}, name) != "" {
		err = nil // somebody else was faster
	}
	return path, err
}

// EachFile shows the files of a package, one after the other.
func EachFile(deb string, show func(h *tar.Header, r io.Reader) error) error {
	cmd := exec.Command("dpkg-deb", "--fsys-tarfile", deb)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	archive := tar.NewReader(pipe)
	for err == nil {
		var h *tar.Header
		if h, err = archive.Next(); err == nil {
			err = show(h, archive)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	_, drained := io.Copy(io.Discard, pipe)
	return errors.Join(err, drained, cmd.Wait())
}

// Output runs a tool in dir and returns what it printed.
func Output(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s %q: %w: %s", name, args, err, exit.Stderr)
	}
	return out, err
}
