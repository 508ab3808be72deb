package review

import (
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// The time between two looks: longer while nothing comes. They are looks and no watch: the
// kernel gives a user few watchers, and those that guard secrets come first.
const (
	restShort = 2 * time.Second
	restLong  = 15 * time.Second
)

// maxWatched bounds the directories in which a first name is waited for.
const maxWatched = 64

// First calls tell with the first name that will not be kept, soon after it is made,
// and returns; or it returns when ended is closed. Names deep in directories that are
// not watched are found at the end alone.
func (p *Throwaway) First(ended <-chan struct{}, tell func(OutsideName)) error {
	dirs := p.watched()
	defer func() {
		for _, d := range dirs {
			d.Close()
		}
	}()
	look := time.NewTimer(restShort)
	defer look.Stop()
	rest := restShort
	for last := []unix.Timespec(nil); ; {
		now := stamps(dirs)
		rest = min(rest*3/2, restLong)
		if !slices.Equal(now, last) {
			rest = restShort
			if found := p.Find(); len(found.Items) > 0 {
				tell(found.Items[0])
				return nil
			}
		}
		last = now
		select {
		case <-ended:
			return nil
		case <-look.C:
			look.Reset(rest)
		}
	}
}

// stamps are the times at which names last came or went.
func stamps(dirs []*os.File) []unix.Timespec {
	out := make([]unix.Timespec, len(dirs))
	for i, d := range dirs {
		var st unix.Stat_t
		if unix.Fstat(int(d.Fd()), &st) == nil {
			out[i] = st.Mtim
		}
	}
	return out
}

// watched opens the directories that were there before the agent.
func (p *Throwaway) watched() (out []*os.File) {
	for i := range p.roots {
		r := &p.roots[i]
		dirs := []string{"."}
		for rel := range r.made {
			if p.judge.Misses(path.Join(r.at, rel, "x")) {
				dirs = append(dirs, rel)
			}
		}
		for _, rel := range dirs {
			if len(out) == maxWatched {
				return out
			}
			if d, err := openDir(int(r.dir.Fd()), rel); err == nil { // else a file, or a mount of something that is kept
				out = append(out, d)
			}
		}
	}
	return out
}
