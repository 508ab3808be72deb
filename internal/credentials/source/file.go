package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// file reads a file that nobody else can read, and that no agent can write.
func (h Host) file(path string) (string, error) {
	path, err := h.absolute(path)
	if err != nil {
		return "", err
	}
	if err := h.outside(path); err != nil {
		return "", err
	}
	if h.Unseen != nil {
		if err := h.Unseen(path); err != nil {
			return "", err
		}
	}
	data, err := readPrivate(path, maxValue+2, 0o077) // and its newline
	return string(data), err
}

// absolute resolves ~/ and wants an absolute path.
func (h Host) absolute(path string) (string, error) {
	if len(path) > 1 && path[:2] == "~/" && filepath.IsAbs(h.Home) {
		path = filepath.Join(h.Home, path[2:])
	}
	if !filepath.IsAbs(path) {
		return "", errors.New("the path is not absolute")
	}
	return filepath.Clean(path), nil
}

// outside refuses a path that lies in a workspace, or that a link of a workspace is
// on the way to: who can write there would choose what is read.
func (h Host) outside(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path // what is not there is found so by who opens it
	}
	for _, w := range h.Workspaces {
		roots := []string{filepath.Clean(w)}
		if r, err := filepath.EvalSymlinks(w); err == nil && r != roots[0] {
			roots = append(roots, r)
		}
		for _, root := range roots {
			if file.Within(path, root) || file.Within(real, root) || through(path, root) {
				return fault.New(fault.Refused, "keep it where no agent can write", "%s lies in the workspace %s, where an agent can write", shown(path), shown(root))
			}
		}
	}
	return nil
}

// maxLinks is what the kernel follows.
const maxLinks = 40

// through reports whether a link on the way to path leads into root.
func through(path, root string) bool {
	for range maxLinks {
		prefix, target := firstLink(path)
		if prefix == "" {
			return false
		}
		rest := path[len(prefix):]
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(prefix), target)
		}
		if path = filepath.Join(target, rest); file.Within(path, root) {
			return true
		}
	}
	return false // the kernel gives up here too
}

// firstLink returns the shortest prefix of path that is a symlink, and its target.
func firstLink(path string) (prefix, target string) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if target, err := os.Readlink(path[:i]); err == nil {
			return path[:i], target
		}
	}
	return "", ""
}

// readPrivate reads a regular file of the user or of root's whose mode has none of
// the bits in forbidden. What is longer than limit is cut one byte behind it.
func readPrivate(path string, limit int64, forbidden uint32) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	defer f.Close()
	if err := private(f, path, forbidden); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, openError(path, err)
	}
	return data, nil
}

func private(f *os.File, path string, forbidden uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return openError(path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fault.New(fault.Refused, "", "%s is not a regular file", shown(path))
	case int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return fault.New(fault.Refused, "", "%s belongs to another user (%d), who can change it", shown(path), st.Uid)
	case st.Mode&forbidden != 0:
		return fault.New(fault.Refused, "chmod 600 "+shown(path), "%s is open to other users (mode %04o)", shown(path), st.Mode&0o7777)
	}
	return nil
}

// openError names the path once: the error of package os holds it raw.
func openError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("read %s: %w", shown(path), err)
}

// shown is s as a terminal can show it.
func shown(s string) string {
	if q := strconv.QuoteToGraphic(s); q != `"`+s+`"` {
		return q
	}
	return s
}
