package history

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

const (
	directoryFlags = unix.O_DIRECTORY | unix.O_CLOEXEC
	fileFlags      = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
)

// side is one of the two directories.
type side struct{ dir *os.File }

func (s *side) close() { s.dir.Close() }

func (s *side) open(name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(s.dir.Fd()), name, flags|fileFlags, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// names lists the conversations, the newest first.
func (s *side) names() ([]string, error) {
	if _, err := s.dir.Seek(0, 0); err != nil {
		return nil, err
	}
	entries, err := s.dir.ReadDir(20 * maxFiles)
	if len(entries) == 0 && err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil // empty
	}
	type dated struct {
		name string
		mark mark
	}
	var all []dated
	for _, e := range entries {
		if transcript(e.Name()) {
			all = append(all, dated{e.Name(), s.mark(e.Name())})
		}
	}
	slices.SortFunc(all, func(a, b dated) int {
		return cmp.Or(cmp.Compare(b.mark.Time, a.mark.Time), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, d := range all[:min(len(all), maxFiles)] {
		out = append(out, d.name)
	}
	return out, nil
}

// mark tells a file from what it was: nothing is read while it is the same.
type mark struct {
	Size int64  `json:"size"`
	Time int64  `json:"time"`
	Ino  uint64 `json:"ino"`
}

func (s *side) mark(name string) mark {
	var st unix.Stat_t
	if unix.Fstatat(int(s.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return mark{}
	}
	return mark{st.Size, st.Mtim.Nano(), st.Ino}
}

var errShape = errors.New("it is not a file of yours alone")

// read reads a conversation: a regular file of ours that has no other name.
func (s *side) read(name string) ([]byte, error) {
	f, err := s.open(name, unix.O_RDONLY)
	if errors.Is(err, unix.ELOOP) {
		return nil, errShape
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := plain(f); err != nil {
		return nil, err
	}
	return file.ReadRegular(f, maxFile)
}

func plain(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 || int(st.Uid) != os.Geteuid() {
		return errShape
	}
	return nil
}

// write makes a file of now, or continues one that holds was. Whoever wrote to it in
// between is not overwritten: the rest goes to its end or nowhere.
func (s *side) write(name string, was, now []byte, there bool) error {
	flags := unix.O_WRONLY | unix.O_APPEND
	if !there {
		flags |= unix.O_CREAT | unix.O_EXCL
	}
	f, err := s.open(name, flags)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := plain(f); err != nil {
		return err
	}
	if st, err := f.Stat(); err != nil || st.Size() != int64(len(was)) {
		return errors.Join(err, errors.New("it changes while it is looked at"))
	}
	if _, err := f.Write(now[len(was):]); err != nil {
		return errors.Join(err, f.Truncate(int64(len(was))))
	}
	return f.Sync()
}

// date gives a file the time that it has on the other side: agents list by it. None is of
// the future, in which an agent's would stay the first of every list.
func (s *side) date(name string, from *side) {
	t := unix.NsecToTimespec(min(from.mark(name).Time, time.Now().UnixNano()))
	// The order of a list is all that is at stake.
	_ = unix.UtimesNanoAt(int(s.dir.Fd()), name, []unix.Timespec{t, t}, unix.AT_SYMLINK_NOFOLLOW)
}
