package run

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/place"
	"ringfence.dev/ringfence/internal/plan"
	"ringfence.dev/ringfence/internal/probe"
)

// atlas knows the mounts of the host. By it a directory is where it lies in its
// filesystem, whatever links and bind mounts lead there.
type atlas struct {
	mounts []probe.Mount
	known  map[string]spot
}

// spot is a directory or a file in a filesystem; dev is "" where nothing is.
type spot struct{ dev, at string }

// holds says whether o is s or lies below it, and how it is called from there.
func (s spot) holds(o spot) (rel string, ok bool) {
	if s.dev == "" || s.dev != o.dev || !place.Within(o.at, s.at) {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(o.at, s.at), "/"), true
}

func readAtlas() (*atlas, error) {
	b, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, err
	}
	a := &atlas{known: map[string]spot{}}
	a.mounts, err = probe.ParseMounts(b)
	return a, err
}

// dir asks the kernel where a directory is. Links are followed by the kernel alone. What
// we cannot open is nowhere: who has our user cannot open it either.
func (a *atlas) dir(path string) (real string, s spot) {
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
		if m.ID == id || id < 0 && place.Within(real, m.Point) {
			s = spot{m.Dev, filepath.Join(m.Root, strings.TrimPrefix(real, strings.TrimSuffix(m.Point, "/")))}
		}
	}
	a.known[real] = s
	return real, s
}

// spots lists where a path lies: under its own name, and under each that links and
// mounts of single files lead to.
func (a *atlas) spots(path string) (out []spot) {
	for range 40 { // as many links as the kernel follows
		dir, s := a.dir(filepath.Dir(path))
		if s.dev == "" {
			return out
		}
		path = filepath.Join(dir, filepath.Base(path))
		out = append(out, spot{s.dev, filepath.Join(s.at, filepath.Base(path))})
		for _, m := range a.mounts {
			if m.Point == path {
				out = append(out, spot{m.Dev, m.Root})
			}
		}
		to, err := os.Readlink(path)
		if err != nil {
			return out
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return out
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
			if all := a.spots(m.Src); len(all) > 0 {
				out = append(out, window{all[len(all)-1], m.Dst})
			}
			continue
		}
		out = append(out, window{s, m.Dst})
		for _, sub := range a.mounts {
			if sub.Point != real && place.Within(sub.Point, real) {
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
}

// sightings lists where a path would be seen.
func (a *atlas) sightings(path string, windows []window) (out []sighting) {
	for _, s := range a.spots(path) {
		for _, w := range windows {
			var seen sighting
			if rel, ok := w.holds(s); ok {
				seen = sighting{filepath.Join(w.inside, rel), w.inside, rel == ""}
			} else if _, ok := s.holds(w.spot); ok {
				seen = sighting{w.inside, w.inside, true}
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
