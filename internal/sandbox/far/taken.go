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
// there with something else in it, links, and what is more than the bounds.
type taken struct {
	over  string          // the tree here that the layer lies over
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

// keep looks through the generation that the new one has just taken the place of. All names in
// it are the agent's: nothing is reached but by a directory that was opened, and no link is kept.
func (l *layer) keep() {
	now, err := os.OpenRoot(l.dir)
	if err != nil {
		l.more++
		return
	}
	defer now.Close()
	host := l.host()
	if host != nil {
		defer host.Close()
	}
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
		if l.laid[rel] || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil && info.Size() > 0 && !names(now, host, rel) {
			l.put(p, rel, info.Size())
		}
		return nil
	})
}

// names holds for a path that a layer has, or that it says was deleted: then something other
// than a directory stands there, or above it. What stands above is never gone through unless
// it is a directory. To delete what the host has not got shows in no review, and says nothing.
func names(layer, host *os.Root, rel string) bool {
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != filepath.Separator {
			continue
		}
		st, err := layer.Lstat(rel[:i])
		if err != nil {
			return false
		}
		if st.Mode()&fs.ModeCharDevice != 0 { // a whiteout
			if host == nil {
				return false
			}
			_, err := host.Lstat(rel[:i])
			return err == nil
		}
		if !st.IsDir() {
			return true
		}
	}
	return true
}

// host opens the tree that the layer lies over; nil: it cannot be looked at.
func (l *layer) host() *os.Root {
	if host, err := os.OpenRoot(l.over); err == nil {
		return host
	}
	return nil
}

// put moves one file to where it waits.
func (l *layer) put(from, rel string, size int64) {
	if err := os.Mkdir(l.before(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		l.more++
		return
	}
	before, err := os.OpenRoot(l.before())
	if err != nil {
		l.more++
		return
	}
	defer before.Close()
	was, had := before.Lstat(rel)
	if had == nil && was.Mode().IsRegular() {
		size -= was.Size()
	}
	if l.kept >= maxTaken || l.bytes+size > maxTakenBytes || moveInto(before, from, rel) != nil {
		l.more++
		return
	}
	if l.bytes += size; had != nil {
		l.kept++
	}
}

// moveInto moves a file below a directory. There are files and directories there, and no links.
func moveInto(root *os.Root, from, rel string) error {
	dir, name := filepath.Split(rel)
	if err := root.MkdirAll(filepath.Clean(dir), 0o700); err != nil {
		return err
	}
	into, err := root.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer into.Close()
	return unix.Renameat(unix.AT_FDCWD, from, int(into.Fd()), name)
}

// emptied says at the end what was kept and did not come again. Where nothing else came, that
// is what is reviewed: the session would else be forgotten as one that changed nothing.
func (l *layer) emptied() string {
	lost := l.more
	now, err := os.OpenRoot(l.dir)
	if err != nil {
		return ""
	}
	defer now.Close()
	host := l.host()
	if host != nil {
		defer host.Close()
	}
	filepath.WalkDir(l.before(), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if lost++; names(now, host, p[len(l.before())+1:]) {
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
