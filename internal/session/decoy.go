package session

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/credentials/decoy"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// scratchDecoys begins the name of where decoys lie until they are mounted: the next
// launch takes away what one left that was killed before.
const scratchDecoys = ".new-decoys-"

// lure is the decoys of a session.
type lure struct {
	dir     string // where they lie on the host until they are mounted
	files   []decoy.File
	needles *leakscan.Set

	mu   sync.Mutex
	read []string // by name, in the order of their first reading
}

// prepareDecoys makes credentials that nobody has a reason to touch.
func prepareDecoys(b Base) (out Contribution, err error) {
	if b.Reach.Mode == modeNone || b.asked.Passing || !b.Policy.Broker.DecoysOn() {
		return out, nil
	}
	set, err := decoy.Make(b.ID, rand.Reader)
	if err != nil {
		return out, err
	}
	out.lure = &lure{dir: filepath.Join(b.dirs.State, scratchDecoys+b.ID), files: set.Files(b.User.Home)}
	name, value := set.Env()
	out.set("decoy", name, value)
	if b.asked.Look {
		return out, nil // nothing is started, so nothing is searched for them
	}
	out.lure.needles, err = leakscan.New(set.Needles()...)
	return out, err
}

// decoyWhy is the reason of their mounts.
const decoyWhy = "decoy"

// layDecoys mounts them, once it is known what else is mounted. A place that the user
// shows is left as it is.
func layDecoys(b Base, total Contribution) (out Contribution) {
	l := total.lure
	if l == nil || b.asked.Look { // a look makes nothing, and there would be nothing to mount
		return out
	}
	l.files = slices.DeleteFunc(l.files, func(f decoy.File) bool { return showsAt(&total, b.User.Home, f.Path) })
	for _, f := range l.files {
		out.mounts = append(out.mounts, plan.Mount{Src: f.Host(l.dir), Dst: f.Path, Why: decoyWhy})
	}
	return out
}

// shows is left as it is.
func (s *Session) layDecoys(total Contribution) (out Contribution, err error) {
	if s.lure == nil || s.asked.Look { // a look makes nothing, and there would be nothing to mount
		return out, nil
	}
	s.lure.files = slices.DeleteFunc(s.lure.files, func(f decoy.File) bool { return showsAt(&total, s.User.Home, f.Path) })
	for _, f := range s.lure.files {
		out.mounts = append(out.mounts, plan.Mount{Src: f.Host(s.lure.dir), Dst: f.Path, Why: decoyWhy})
	}
	return out, nil
}

// shows holds for a path that a mount or a file of ours shows or hides already.
func showsAt(c *Contribution, home, path string) bool {
	return slices.ContainsFunc(c.mounts, func(m plan.Mount) bool { return file.Within(path, m.Dst) || file.Within(m.Dst, path) }) ||
		slices.ContainsFunc(c.state, func(k stateItem) bool { return file.Within(path, filepath.Join(home, k.Path)) }) ||
		slices.ContainsFunc(c.files, func(f plan.File) bool { return f.Dst == path })
}

// plant writes the decoys where the sandbox is about to mount them from, and begins to
// watch them. Once they are mounted their names on the host are not needed any more:
// bare takes them away, so that nothing is left however the session ends.
func (l *lure) plant(sessions func() ([]string, error), told func(name string)) (io.Closer, error) {
	if l == nil {
		return io.NopCloser(nil), nil
	}
	sweepDecoys(filepath.Dir(l.dir), sessions)
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return io.NopCloser(nil), err
	}
	hosts, err := decoy.Plant(l.dir, l.files)
	if err != nil {
		l.bare()
		return io.NopCloser(nil), fmt.Errorf("plant decoys: %w", err)
	}
	w, err := decoy.Watch(hosts, func(r decoy.Read) { told(r.Name) })
	if err != nil {
		l.bare()
		return io.NopCloser(nil), fmt.Errorf("watch decoys: %w", err)
	}
	return w, nil
}

func (l *lure) bare() error {
	if l == nil {
		return nil
	}
	return os.RemoveAll(l.dir)
}

// sweepDecoys removes what a launch left that was killed before it could.
func sweepDecoys(dir string, sessions func() ([]string, error)) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	live, err := sessions()
	if err != nil {
		return
	}
	for _, e := range entries {
		// A session listens before it plants: one that does not is gone.
		if id, ok := strings.CutPrefix(e.Name(), scratchDecoys); ok && !slices.Contains(live, id) {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// wasRead remembers a decoy that somebody opened. It is false for one that was opened before.
func (l *lure) wasRead(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !slices.Contains(l.read, name)
	if first {
		l.read = append(l.read, name)
	}
	return first
}

// readSoFar lists the decoys that were read.
func (l *lure) readSoFar() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.read)
}
