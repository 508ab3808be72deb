// Package journal keeps the record of what a session did and of what was decided
// about it: append-only files of JSON lines, written by the supervisor outside of
// the agent's reach. A record that cannot be written is an error, and the caller
// then denies what it would have recorded.
//
// Every line holds the hash of the line before it. The hash of the last one, the
// head, is signed with the key of this host: with every flush, and at the end. A
// register that is signed too knows all sessions, where each of them ended, and
// which of them were removed on purpose. Verify compares all three.
//
// The strings in a record may come from the agent. In the file they are plain
// ASCII, so that it can be shown on a terminal as it is; once decoded they are
// what they were, and whoever prints them has to quote them.
//
// What is left at risk: a process of the same user outside of the sandbox can read
// the key, and so write a journal anew; bringing back the whole state directory as
// it was at an earlier time is not found without a word from elsewhere; a crash of
// the host can lose the last second.
package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// The files of a session: its parts, of which the first has no number, and its head.
const (
	suffix     = ".jsonl"
	headSuffix = ".head"
)

func partName(session string, part int) string {
	if part == 1 {
		return session + suffix
	}
	return session + "." + strconv.Itoa(part) + suffix
}

// sealDir is where the key and the register lie that belong to the journals in dir:
// not among them, so that bringing back that directory brings back only half.
func sealDir(dir string) string { return filepath.Join(filepath.Dir(filepath.Clean(dir)), "seal") }

// isSession holds for the ids that package session makes, and so for nothing
// that could be a path.
func isSession(id string) bool {
	return len(id) == 10 && strings.Trim(id, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}

// IsSession holds for what can be the id of a session.
func IsSession(id string) bool { return isSession(id) }

func notSession(id string) error {
	return fault.New(fault.Usage, "", "%q is not the id of a session", id)
}

// openDir opens the directory of all journals. It must be ours alone: another
// user who could rename in it would choose what is read and what is removed.
func openDir(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		unix.Close(fd)
		return -1, fault.New(fault.Refused, fmt.Sprintf("set XDG_STATE_HOME to a directory of your own, or: chmod go-w %q", path),
			"journal directory %q belongs to or can be changed by others", path)
	}
	return fd, nil
}

// openFile opens a file for reading, or with further flags. Anything but a file of
// ours at that name is an error, and nothing is followed.
func openFile(dir int, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		unix.Close(fd)
		return nil, fmt.Errorf("%s is not a file of ours", name)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// The writer of a journal holds LOCK_EX on it for as long as it lives, and so
// says that the session runs: also kill -9 lets go of it.

// running reports whether the writer of the journal at f lives.
func running(f *os.File) bool {
	fd := int(f.Fd())
	err := file.Lock(fd, unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		err = file.Lock(fd, unix.LOCK_UN)
	}
	return err == unix.EWOULDBLOCK
}
