package journal

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Info tells of one journal.
type Info struct {
	Session string
	Start   time.Time // of its first record
	Mod     time.Time // when it was last written
	Size    int64
	Running bool // its writer lives
}

// List tells of all journals in dir, the newest first. What is there and is no
// journal is left out.
func List(dir string) ([]Info, error) {
	fd, err := openDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, name := range names {
		id, ok := strings.CutSuffix(name, suffix)
		if !ok || !isSession(id) {
			continue
		}
		if info, err := describe(fd, id); err == nil {
			list = append(list, info)
		}
	}
	slices.SortFunc(list, func(a, b Info) int {
		return cmp.Or(b.Start.Compare(a.Start), strings.Compare(a.Session, b.Session))
	})
	return list, nil
}

func describe(dir int, session string) (Info, error) {
	r, err := openReader(dir, session)
	if err != nil {
		return Info{}, err
	}
	defer r.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(r.file.Fd()), &st); err != nil {
		return Info{}, err
	}
	info := Info{Session: session, Mod: time.Unix(st.Mtim.Unix()), Size: st.Size, Running: running(r.file)}
	info.Start = info.Mod
	if first, err := r.Next(); err == nil {
		info.Start = first.Time
	}
	return info, nil
}
