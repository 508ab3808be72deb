package far

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// shrunk keeps what a far end takes away again: one whose layer loses most of what had come
// was perhaps emptied by who has it now. What is left at risk: the same number of files with
// nothing in them, and what is smaller by less than half.
type shrunk struct {
	has   int // entries of the generation that lies there
	peak  int // of the fullest one since the last that was kept
	saved int // entries of what is kept; 0: nothing is
}

// before is where a generation is kept until the review ends.
func (l *layer) before() string { return l.dir + ".before" }

// keep judges the generation that has just taken the place of the one before.
func (l *layer) keep() {
	had := l.has
	l.has = entries(l.dir)
	l.peak = max(l.peak, l.has)
	if 2*l.has >= l.peak {
		return
	}
	l.peak = l.has
	if had <= l.saved {
		return
	}
	if file.RemoveTree(l.before()) == nil && os.Rename(l.next(), l.before()) == nil {
		l.saved = had
	}
}

// emptied says at the end what was kept. Where nothing else came, that is what is reviewed:
// the session would else be forgotten as one that changed nothing.
func (l *layer) emptied() string {
	if l.saved == 0 || 2*l.has >= l.saved {
		file.RemoveTree(l.before())
		return ""
	}
	if l.has > 0 {
		return fmt.Sprintf("the far end sent %d files at last, where it had sent %d: those are in %q until the review ends", l.has, l.saved, l.before())
	}
	if err := unix.Renameat2(unix.AT_FDCWD, l.before(), unix.AT_FDCWD, l.dir, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Sprintf("the far end sent nothing at last, where it had sent %d files: %v", l.saved, err)
	}
	file.RemoveTree(l.before())
	return fmt.Sprintf("the far end sent nothing at last, where it had sent %d files: those wait for review", l.saved)
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
