package outside

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// rest is the time between two looks: an agent can make names faster than they can be
// looked at.
const rest = time.Second

// maxWatched bounds the directories in which a first name is waited for.
const maxWatched = 64

// First calls tell with the first name that will not be kept, at about the moment it
// is made, and returns; or it returns when ended is closed. Names deep in directories
// that are not watched are found at the end alone.
func (p *Places) First(ended <-chan struct{}, tell func(Item)) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("inotify: %w", err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	defer events.Close()
	if err := p.arm(fd); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ended:
			events.Close()
		case <-done:
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		// Before the first wait too: for what was made while the watches were set.
		looked := time.Now()
		if found := p.Find(); len(found.Items) > 0 {
			tell(found.Items[0])
			return nil
		}
		if _, err := events.Read(buf); err != nil {
			return nil
		}
		select {
		case <-ended:
			return nil
		case <-time.After(rest - time.Since(looked)):
		}
	}
}

// arm watches the directories that were there before the agent.
func (p *Places) arm(inotify int) error {
	watched := 0
	for i := range p.roots {
		r := &p.roots[i]
		dirs := []string{"."}
		for rel := range r.made {
			if p.judge.Misses(path.Join(r.at, rel, "x")) {
				dirs = append(dirs, rel)
			}
		}
		for _, rel := range dirs {
			if watched == maxWatched {
				return nil
			}
			d, err := openDir(int(r.dir.Fd()), rel)
			if err != nil {
				continue // a file, or a mount of something that is kept
			}
			watched++
			_, err = unix.InotifyAddWatch(inotify, "/proc/self/fd/"+strconv.Itoa(int(d.Fd())), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
			d.Close()
			if err != nil {
				return fmt.Errorf("watch %q: %w", path.Join(r.at, rel), err)
			}
		}
	}
	return nil
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
