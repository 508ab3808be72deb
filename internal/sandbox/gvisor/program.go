package gvisor

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
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
)

// Tested is the version of gVisor that the tests run with.
const Tested = "v0.0.0-20260701204157-69c2d17aea96"

// Hint says how to get runsc. It is never downloaded by ringfence.
const Hint = "get runsc: the Debian package runsc, a release file of gVisor in /usr/local/bin, or `go install gvisor.dev/gvisor/runsc@" + Tested + "`; or name it: [rung] runsc = \"/path\""

// program is runsc, opened once: what is judged is what runs.
type program struct {
	path string
	file *os.File
}

// find opens runsc: the one that policy names, else the first on PATH in a directory of
// root's. It must be one that nobody else can change.
func find(named, path string) (*program, error) {
	if named != "" {
		return open(named)
	}
	var last error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || !rootOwns(dir) {
			continue
		}
		p, err := open(filepath.Join(dir, "runsc"))
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
	return nil, fault.New(fault.Refused, Hint, "runsc is in no directory of root's on PATH")
}

func rootOwns(dir string) bool {
	var st unix.Stat_t
	return unix.Stat(dir, &st) == nil && st.Uid == 0 && st.Mode&0o022 == 0
}

func open(path string) (*program, error) {
	real, err := sys.Owned(path)
	if err != nil {
		return nil, refused(path, err)
	}
	f, err := os.OpenFile(real, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, refused(path, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0:
		err = errors.New("it is not a program")
	case st.Mode&0o022 != 0:
		err = errors.New("others may write to it")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		err = fmt.Errorf("it belongs to user %d", st.Uid)
	}
	if err != nil {
		f.Close()
		return nil, refused(path, err)
	}
	return &program{real, f}, nil
}

func refused(path string, err error) error {
	return fault.New(fault.Refused, Hint, "runsc cannot be used: %q: %w", path, err)
}

// id names the content by what the kernel changes with it. Only who can turn the clock back,
// which is root, makes a change that keeps it; one within the same tick of the clock as the
// change before is left out.
func (p *program) id(now time.Time) string {
	var st unix.Stat_t
	if unix.Fstat(int(p.file.Fd()), &st) != nil || now.Sub(time.Unix(st.Ctim.Unix())) < 2*time.Second {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%d.%d:%d.%d", st.Dev, st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
}

// sum is the SHA-256 of the program.
func (p *program) sum() (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(p.file, 0, 1<<40)); err != nil {
		return "", fmt.Errorf("read %q: %w", p.path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pinned compares a digest with the one that policy demands; "" demands none.
func (p *program) pinned(sum, want string) error {
	if want == "" || strings.EqualFold(sum, want) {
		return nil
	}
	return fault.New(fault.Refused, "install that program, or change [rung] runsc-sha256", "%q has the SHA-256 %s, and policy demands %s", p.path, sum, want)
}
