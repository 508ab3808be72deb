// Package program opens what of others runs below an agent: runsc, an emulator, a kernel. It
// is opened once, and judged by that descriptor: nobody but root and the user may be able to
// change it.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Kind is what is looked for.
type Kind struct {
	Name string // of the program, for people and on PATH
	Hint string // how to get it
	Key  string // of policy, that pins its digest
	Data bool   // it is no program of this machine's kernel
}

// File is one that was opened.
type File struct {
	kind Kind
	Path string // without links
	File *os.File
}

// Find opens the one that policy names, else the first on PATH in a directory of root's.
func (k Kind) Find(named, path string) (*File, error) {
	if named != "" {
		return k.Open(named)
	}
	var last error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || !rootOwns(dir) {
			continue
		}
		p, err := k.Open(filepath.Join(dir, k.Name))
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			last = err
		}
	}
	if last != nil {
		return nil, last
	}
	return nil, fault.New(fault.Refused, k.Hint, "%s is in no directory of root's on PATH", k.Name)
}

func rootOwns(dir string) bool {
	var st unix.Stat_t
	return unix.Stat(dir, &st) == nil && st.Uid == 0 && st.Mode&0o022 == 0
}

// Open opens the one at a path.
func (k Kind) Open(path string) (*File, error) {
	real, err := sys.Owned(path)
	if err != nil {
		return nil, k.refused(path, err)
	}
	f, err := os.OpenFile(real, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, k.refused(path, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG || !k.Data && st.Mode&0o111 == 0:
		err = errors.New("it is not a program")
	case st.Mode&0o022 != 0:
		err = errors.New("others may write to it")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		err = fmt.Errorf("it belongs to user %d", st.Uid)
	}
	if err != nil {
		f.Close()
		return nil, k.refused(path, err)
	}
	return &File{k, real, f}, nil
}

func (k Kind) refused(path string, err error) error {
	return fault.New(fault.Refused, k.Hint, "%s cannot be used: %q: %w", k.Name, path, err)
}

// ID names the content by what the kernel changes with it. Only who can turn the clock back,
// which is root, makes a change that keeps it; one within the same tick of the clock as the
// change before is left out.
func (p *File) ID(now time.Time) string {
	var st unix.Stat_t
	if unix.Fstat(int(p.File.Fd()), &st) != nil || now.Sub(time.Unix(st.Ctim.Unix())) < 2*time.Second {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%d.%d:%d.%d", st.Dev, st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
}

// Sum is the SHA-256 of what was opened.
func (p *File) Sum() (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(p.File, 0, 1<<40)); err != nil {
		return "", fmt.Errorf("read %q: %w", p.Path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Pinned compares a digest with the one that policy demands; "" demands none.
func (p *File) Pinned(sum, want string) error {
	if want == "" || strings.EqualFold(sum, want) {
		return nil
	}
	return fault.New(fault.Refused, "install that program, or change [rung] "+p.kind.Key, "%q has the SHA-256 %s, and policy demands %s", p.Path, sum, want)
}

// Below is the program for the record. It fails where policy demands another digest. Whoever
// has it has the file, too.
func (p *File) Below(want string) (*rung.Program, error) {
	sum := sync.OnceValues(p.Sum)
	if want != "" {
		is, err := sum()
		if err == nil {
			err = p.Pinned(is, want)
		}
		if err != nil {
			return nil, err
		}
	}
	return &rung.Program{Path: p.Path, ID: p.ID(time.Now()), Sum: sum}, nil
}
