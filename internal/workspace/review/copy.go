package review

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

	"ringfence.dev/ringfence/internal/workspace/change"
)

// CopyTree fills the layer of a tree with a complete copy, for hosts without
// overlayfs. Blocks are shared where the file system can. Sockets, pipes and
// devices are left out. dir is the tree, opened: its name may lead elsewhere by now.
func (w *Work) CopyTree(n int, dir *os.File) error {
	t := &w.Trees[n]
	t.View = Copy
	from, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(w.Upper(n))
	if err != nil {
		return err
	}
	defer to.Close()
	err = fs.WalkDir(from.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return err
		}
		return copyEntry(from, to, p, e)
	})
	if err != nil {
		return fmt.Errorf("copy %q: %w", t.Path, err)
	}
	return w.save()
}

func copyEntry(from, to *os.Root, p string, e fs.DirEntry) error {
	st, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case st.IsDir():
		if err := to.Mkdir(p, 0o700); err != nil {
			return err
		}
		return to.Chmod(p, st.Mode().Perm()|0o700)
	case st.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(p)
		if err != nil {
			return err
		}
		return to.Symlink(target, p)
	case st.Mode().IsRegular():
		return copyFile(from, to, p, st)
	}
	return nil
}

func copyFile(from, to *os.Root, p string, st fs.FileInfo) error {
	in, err := from.Open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) != nil {
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
	if err := out.Chmod(st.Mode().Perm()); err != nil {
		return err
	}
	ts := unix.NsecToTimeval(st.ModTime().UnixNano())
	if err := unix.Futimes(int(out.Fd()), []unix.Timeval{ts, ts}); err != nil {
		return err
	}
	return nil
}

// Masked notes files that show phantoms, by their paths in a tree: what the agent makes
// of them is never written back as it is. As long as they stand there nothing waits.
func (w *Work) Masked(n int, phantoms map[string][]byte) error {
	for rel, data := range phantoms {
		rel, sum := filepath.Clean(rel), sha256.Sum256(data)
		if _, ok := w.Trees[n].Phantoms[rel]; !ok {
			w.Trees[n].Masked = append(w.Trees[n].Masked, rel)
		}
		w.Trees[n].stands(rel, hex.EncodeToString(sum[:]))
	}
	return errors.Join(w.notePhantoms(n, phantoms), w.save())
}

func (t *Tree) stands(rel, sum string) {
	if t.Phantoms == nil {
		t.Phantoms = map[string]string{}
	}
	t.Phantoms[rel] = sum
}

// phantom holds for a file that shows what was put there, and nothing of the agent's.
func (t *Tree) phantom(c change.Change) bool {
	return c.From == "" && c.Old != nil && c.New != nil && c.New.Hash != "" && c.New.Hash == t.Phantoms[c.Path]
}
