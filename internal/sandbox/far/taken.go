package far

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// taken keeps what a far end takes away again: a file that had come, and is not in the next
// generation, was deleted by the agent or by who has the far end now. Nobody here can tell
// which, so it waits beside the layer until the review ends, and the person is told. What
// the layer itself names as deleted is in the review. Left at risk: a file that is still
// there with something else in it, and what is more than the bounds.
type taken struct {
	laid  map[string]bool // what the launch put there: nothing of the agent's
	kept  int             // files
	bytes int64
	more  int // that were not kept
}

// The bounds of what is kept of one layer.
const (
	maxTaken      = 100_000
	maxTakenBytes = 1 << 30
)

// before is where that waits.
func (l *layer) before() string { return l.dir + ".before" }

// keep looks through the generation that the new one has just taken the place of.
func (l *layer) keep() {
	old := l.next()
	if l.number == 0 {
		l.laid = map[string]bool{}
	}
	filepath.WalkDir(old, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		rel := p[len(old)+1:]
		if l.number == 0 {
			l.laid[rel] = true
		}
		if l.laid[rel] {
			return nil
		}
		if info, err := e.Info(); err == nil && holds(info) && !l.names(rel) {
			l.put(p, rel, info.Size())
		}
		return nil
	})
}

// holds is for what is worth keeping: no mark of overlayfs, and no empty file.
func holds(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Size() > 0 || info.Mode()&fs.ModeSymlink != 0
}

// names holds for a path that the layer has, or that it says was deleted: then something
// other than a directory stands there, or above it.
func (l *layer) names(rel string) bool {
	_, err := os.Lstat(filepath.Join(l.dir, rel))
	return err == nil || errors.Is(err, unix.ENOTDIR)
}

func (l *layer) put(from, rel string, size int64) {
	to := filepath.Join(l.before(), rel)
	was, had := os.Lstat(to)
	if had == nil && was.Mode().IsRegular() {
		size -= was.Size()
	}
	if l.kept >= maxTaken || l.bytes+size > maxTakenBytes {
		l.more++
		return
	}
	if os.MkdirAll(filepath.Dir(to), 0o700) != nil || os.Rename(from, to) != nil {
		l.more++
		return
	}
	if l.bytes += size; had != nil {
		l.kept++
	}
}

// emptied says at the end what was kept and did not come again. Where nothing else came, that
// is what is reviewed: the session would else be forgotten as one that changed nothing.
func (l *layer) emptied() string {
	lost := l.more
	filepath.WalkDir(l.before(), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if lost++; l.names(p[len(l.before())+1:]) {
			lost--
			os.Remove(p)
		}
		return nil
	})
	if lost == 0 {
		file.RemoveTree(l.before())
		return ""
	}
	text := fmt.Sprintf("the far end had sent %s that it did not send at last", files(lost))
	if l.more > 0 {
		text += fmt.Sprintf(", of which %d were too much to be kept", l.more)
	}
	if entries(l.dir) > 0 {
		return fmt.Sprintf("%s: see %q until the review ends", text, l.before())
	}
	if err := unix.Renameat2(unix.AT_FDCWD, l.before(), unix.AT_FDCWD, l.dir, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Sprintf("%s: %v", text, err)
	}
	file.RemoveTree(l.before())
	return text + ", and nothing else: that waits for review"
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// entries counts what lies in a layer. What cannot be read counts for nothing.
func entries(dir string) (n int) {
	filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err == nil && p != dir {
			n++
		}
		return nil
	})
	return n
}
