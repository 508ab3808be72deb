package lending

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// atlas knows the mounts of the host. By it a directory is where it lies in its
// filesystem, whatever links and bind mounts lead there. It is for one look: what it has
// asked the kernel it does not ask again, since most paths have most of their way in common.
type atlas struct {
	mounts []probe.Mount
	known  map[string]spot
	dirs   map[string]called
	links  map[string]lead
}

// called is a directory by the name that the kernel gives it.
type called struct {
	real string
	spot
}

// lead is where a link leads, or why it is none.
type lead struct {
	to  string
	err error
}

// spot is a directory or a file in a filesystem; dev is "" where nothing is.
type spot struct{ dev, at string }

// holds says whether o is s or lies below it, and how it is called from there.
func (s spot) holds(o spot) (rel string, ok bool) {
	if s.dev == "" || s.dev != o.dev || !file.Within(o.at, s.at) {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(o.at, s.at), "/"), true
}

func readAtlas() (*atlas, error) {
	b, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, err
	}
	a := &atlas{known: map[string]spot{}, dirs: map[string]called{}, links: map[string]lead{}}
	a.mounts, err = probe.ParseMounts(b)
	return a, err
}

// dir is where a directory is.
func (a *atlas) dir(path string) (real string, s spot) {
	d, ok := a.dirs[path]
	if !ok {
		d.real, d.spot = a.ask(path)
		a.dirs[path] = d
	}
	return d.real, d.spot
}

// readlink is where a link leads.
func (a *atlas) readlink(path string) (string, error) {
	l, ok := a.links[path]
	if !ok {
		l.to, l.err = os.Readlink(path)
		a.links[path] = l
	}
	return l.to, l.err
}

// ask asks the kernel where a directory is. Links are followed by the kernel alone. What
// we cannot open is nowhere: who has our user cannot open it either.
func (a *atlas) ask(path string) (real string, s spot) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", spot{}
	}
	defer unix.Close(fd)
	if real, err = os.Readlink("/proc/thread-self/fd/" + strconv.Itoa(fd)); err != nil {
		return "", spot{}
	}
	if s, ok := a.known[real]; ok {
		return real, s
	}
	var st unix.Statx_t
	id := -1
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st) == nil && st.Mask&unix.STATX_MNT_ID != 0 {
		id = int(st.Mnt_id)
	}
	for _, m := range a.mounts { // without an id the last one on the longest point counts, as for the kernel
		if m.ID == id || id < 0 && file.Within(real, m.Point) {
			s = spot{m.Dev, filepath.Join(m.Root, strings.TrimPrefix(real, strings.TrimSuffix(m.Point, "/")))}
		}
	}
	a.known[real] = s
	return real, s
}

// step is a spot on the way to a path.
type step struct {
	spot
	link   bool // it only leads on
	absent int  // how many names at its end lead to nothing yet
}

// steps lists where a path lies, or would lie once it is made: each link on the way to it,
// and under its last name what is there, with what is mounted over that.
func (a *atlas) steps(path string) (out []step) {
	at, names, links := "/", elements(path), 0
	for len(names) > 0 {
		real, s := a.dir(at)
		if s.dev == "" {
			return out
		}
		if names[0] == ".." {
			at, names = filepath.Dir(real), names[1:]
			continue
		}
		here := step{spot: spot{s.dev, filepath.Join(s.at, names[0])}}
		at = filepath.Join(real, names[0])
		to, err := a.readlink(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			here.at, here.absent = filepath.Join(s.at, filepath.Join(names...)), len(names)
			return append(out, here)
		case err != nil: // it is no link
			if names = names[1:]; len(names) == 0 {
				out = append(out, here)
			}
			continue
		}
		if links++; links > 40 { // as many as the kernel follows
			return out
		}
		here.link = true
		if at, out, names = real, append(out, here), append(elements(to), names[1:]...); filepath.IsAbs(to) {
			at = "/"
		}
	}
	for _, m := range a.mounts {
		if m.Point == at {
			out = append(out, step{spot: spot{m.Dev, m.Root}})
		}
	}
	return out
}

// elements are the names of a path, one by one.
func elements(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// window is a part of the host that a session sees.
type window struct {
	spot
	inside string // where
}

// windows are what mounts show, with what is mounted below them on the host.
func (a *atlas) windows(mounts []plan.Mount) (out []window) {
	for _, m := range mounts {
		real, s := a.dir(m.Src)
		if s.dev == "" { // a file
			if all := a.steps(m.Src); len(all) > 0 {
				out = append(out, window{all[len(all)-1].spot, m.Dst})
			}
			continue
		}
		out = append(out, window{s, m.Dst})
		for _, sub := range a.mounts {
			if sub.Point != real && file.Within(sub.Point, real) {
				out = append(out, window{spot{sub.Dev, sub.Root}, filepath.Join(m.Dst, sub.Point[len(real):])})
			}
		}
	}
	return out
}

// sighting is a path of the host that a session would see.
type sighting struct {
	at   string // inside
	root string // what shows it
	wide bool   // it is what shows it, or something above that
	// absent is how many names at its end lead to nothing yet: 1 for a file that is to be
	// made in a directory which is there.
	absent int
}

// sightings lists where a path would be seen.
func (a *atlas) sightings(path string, windows []window) (out []sighting) {
	for _, s := range a.steps(path) {
		for _, w := range windows {
			var seen sighting
			if rel, ok := w.holds(s.spot); ok {
				seen = sighting{filepath.Join(w.inside, rel), w.inside, rel == "", s.absent}
			} else if _, ok := s.holds(w.spot); ok && !s.link {
				seen = sighting{w.inside, w.inside, true, 0}
			} else {
				continue
			}
			if !slices.Contains(out, seen) {
				out = append(out, seen)
			}
		}
	}
	return out
}
