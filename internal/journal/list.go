package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// Info tells of one journal.
type Info struct {
	Session string
	Name    string    // that the user gave the session
	Agent   string    // that ran in it
	Dir     string    // where it began
	Start   time.Time // of its first record
	Mod     time.Time // when it was last written
	Size    int64     // of all parts
	Running bool      // its writer lives
	Chained bool      // its lines hold hashes
}

// List tells of all journals in dir, the newest first. What is there and is no
// journal is left out.
func List(dir string) ([]Info, error) {
	fd, ids, long, err := sessionsIn(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	list := describeAll(fd, ids, long)
	slices.SortFunc(list, func(a, b Info) int {
		return cmp.Or(b.Start.Compare(a.Start), strings.Compare(a.Session, b.Session))
	})
	return list, nil
}

// describeAll tells of many, some at a time: nearly all of it is waiting for the kernel.
func describeAll(dir int, ids []string, long map[string]bool) []Info {
	all := make([]Info, len(ids))
	const hands = 4
	var wg sync.WaitGroup
	for hand := range hands {
		wg.Go(func() {
			buf := make([]byte, maxLine+1)
			for i := hand; i < len(ids); i += hands {
				if info, err := describe(dir, ids[i], long[ids[i]], buf); err == nil {
					all[i] = info
				}
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(all, func(i Info) bool { return i.Session == "" })
}

// sessionsIn opens the directory and returns the ids of the journals in it, and which
// of them have several parts.
func sessionsIn(dir string) (fd int, ids []string, long map[string]bool, err error) {
	fd, err = openDir(dir)
	if err != nil {
		return -1, nil, nil, err
	}
	names, err := readNames(fd)
	if err != nil {
		unix.Close(fd)
		return -1, nil, nil, err
	}
	long = map[string]bool{}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, suffix)
		first, two := strings.CutSuffix(id, ".2")
		switch {
		case ok && isSession(id):
			ids = append(ids, id)
		case ok && two:
			long[first] = true
		}
	}
	slices.Sort(ids)
	return fd, ids, long, nil
}

func readNames(fd int) ([]string, error) {
	own, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(own), "journal")
	defer d.Close()
	return d.Readdirnames(-1)
}

// describe looks at the first record only, and at no more of it than it has to: a list
// of a thousand is made in the time that a person does not notice.
func describe(dir int, session string, long bool, buf []byte) (Info, error) {
	name := partName(session, 1)
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return Info{}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		return Info{}, fmt.Errorf("%s is not a file of ours", name)
	}
	info := Info{Session: session, Running: file.Lock(fd, unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK, Mod: time.Unix(st.Mtim.Unix()), Size: st.Size}
	for part := 2; long && part <= maxParts; part++ {
		if err := unix.Fstatat(dir, partName(session, part), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			break
		}
		info.Mod, info.Size = time.Unix(st.Mtim.Unix()), info.Size+st.Size
	}
	info.Start = info.Mod
	n, err := unix.Pread(fd, buf, 0)
	if err != nil {
		return info, nil
	}
	line, _, whole := bytes.Cut(buf[:n], []byte("\n"))
	if first, ok := glanceRecord(line, session); ok && whole {
		info.Start, info.Chained = first.Time, first.V != unchained
		info.Name, info.Agent = first.Name, first.Agent
		info.Dir, _, _ = strings.Cut(first.List.joined, "\x00")
	}
	return info, nil
}

// Find looks for the journal of a session by its id, by the beginning of one, or by
// the name that the user gave it; of several with that name it is the newest. "" is
// the newest of all.
func Find(dir, session string) (Info, error) {
	list, err := List(dir)
	if err != nil {
		return Info{}, err
	}
	if session == "" && len(list) > 0 {
		return list[0], nil
	}
	var like []Info
	for _, info := range list {
		switch {
		case info.Session == session:
			return info, nil
		case len(session) >= minPrefix && strings.HasPrefix(info.Session, session):
			like = append(like, info)
		}
	}
	if i := slices.IndexFunc(list, func(info Info) bool { return session != "" && info.Name == session }); i >= 0 {
		return list[i], nil
	}
	switch len(like) {
	case 0:
		if session == "" {
			return Info{}, fault.New(fault.Failed, "", "no session has left a record yet")
		}
		return Info{}, fault.New(fault.Failed, "`ringfence log list` shows those there are", "no record of session %q", session)
	case 1:
		return like[0], nil
	}
	return Info{}, fault.New(fault.Usage, "give more of its id", "%q is the beginning of %d sessions", session, len(like))
}

// minPrefix is how much of an id names a session.
const minPrefix = 4
