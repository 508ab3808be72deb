// Package self is how ringfence starts what stays beside a session: PID 1 of the sandbox
// and the janitor. They need a sixth of the program. So ringfence carries a small program
// inside of itself, and lays it in a file of its own: it starts in a third of the time and
// keeps half of the memory. Where it has none, or cannot lay it, it starts itself instead,
// which does the same.
//
// Left at risk: who can write to the state directory can change what is laid there. No
// session can; who else can is the user, who may change ringfence as well.
package self

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// Whole is ringfence itself.
const Whole = "/proc/self/exe"

var (
	program, name string
	laying        sync.Once
	laid          = Whole
)

// Carry is told by main what the small program is, and a name that is its alone.
func Carry(small, called string) { program, name = small, called }

// Path is what to execute. It is Whole before Lay.
func Path() string { return laid }

// Lay sees to it that the small program is in a directory, which is ours alone.
func Lay(dir string) {
	laying.Do(func() {
		if program == "" || name == "" {
			return
		}
		if f, err := lay(dir); err == nil {
			laid = "/proc/self/fd/" + strconv.Itoa(f)
		}
	})
}

// lay returns a descriptor of the program, which stays open: what was judged is what runs.
func lay(dir string) (fd int, err error) {
	path := filepath.Join(dir, name)
	if fd, err = openHigh(path); err == nil {
		return fd, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return -1, err
	}
	// One after the other: who began at the same time must find the first one's, and not take
	// its name from a file that a session is about to be built on.
	lock, err := file.LockDir(dir, unix.LOCK_EX)
	if err != nil {
		return -1, err
	}
	defer lock.Close()
	if fd, err = openHigh(path); err == nil {
		return fd, nil
	}
	thin(dir)
	if err := file.ReplaceWith(path, mode, write); err != nil {
		return -1, err
	}
	return openHigh(path)
}

// high is above all numbers that a child's descriptors get before it executes the program.
const high = 64

func openHigh(path string) (fd int, err error) {
	low, err := open(path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(low)
	return unix.FcntlInt(uintptr(low), unix.F_DUPFD_CLOEXEC, high)
}

// write writes page by page: the kernel keeps in one piece what came in one piece, and
// shows a process all of it for every byte that it reads.
func write(f *os.File) error {
	for rest := program; rest != ""; {
		n, err := f.WriteString(rest[:min(len(rest), os.Getpagesize())])
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

const mode = 0o500

var errOther = errors.New("it is not what was laid there")

// open judges by all that costs nothing: the name is of the content, and what is
// written there is complete.
func open(path string) (fd int, err error) {
	fd, err = unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	var fs unix.Statfs_t
	err = errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &fs))
	switch {
	case err != nil:
	case st.Mode != unix.S_IFREG|mode, int(st.Uid) != os.Geteuid(), st.Nlink != 1, st.Size != int64(len(program)), fs.Flags&unix.ST_NOEXEC != 0:
		err = errOther
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// most is how many programs stay: of versions that are used by turns.
const most = 4

// thin makes room for another. Who runs one of those that go is not disturbed, and who
// wants to start it again lays it anew.
func thin(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < most {
		return
	}
	for _, e := range entries {
		os.Remove(filepath.Join(dir, e.Name()))
	}
}
