package launch

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

// Lure is the decoys of a session.
type Lure struct {
	dir     string // where they lie on the host until they are mounted
	files   []decoy.File
	Needles *leakscan.Set

	mu   sync.Mutex
	read []string // by name, in the order of their first reading
}

// Decoys makes credentials that nobody has a reason to touch.
func Decoys(b Base) (out Contribution, err error) {
	if b.Reach.Mode == ModeNone || b.Asked.Passing || !b.Policy.Broker.DecoysOn() {
		return out, nil
	}
	set, err := decoy.Make(b.ID, rand.Reader)
	if err != nil {
		return out, err
	}
	out.Lure = &Lure{dir: filepath.Join(b.Dirs.State, scratchDecoys+b.ID), files: set.Files(b.User.Home)}
	name, value := set.Env()
	out.Set("decoy", name, value)
	if b.Asked.Look {
		return out, nil // nothing is started, so nothing is searched for them
	}
	out.Lure.Needles, err = leakscan.New(set.Needles()...)
	return out, err
}

// DecoyWhy is the reason of their mounts.
const DecoyWhy = "decoy"

// LayDecoys mounts them, once it is known what else is mounted. A place that the user
// shows is left as it is.
func LayDecoys(b Base, total Contribution) (out Contribution, err error) {
	l := total.Lure
	if l == nil || b.Asked.Look { // a look makes nothing, and there would be nothing to mount
		return out, nil
	}
	l.files = slices.DeleteFunc(l.files, func(f decoy.File) bool { return showsAt(&total, b.User.Home, f.Path) })
	for _, f := range l.files {
		out.Mounts = append(out.Mounts, plan.Mount{Src: f.Host(l.dir), Dst: f.Path, Why: DecoyWhy})
	}
	return out, nil
}

// shows holds for a path that a mount or a file of ours shows or hides already.
func showsAt(c *Contribution, home, path string) bool {
	return slices.ContainsFunc(c.Mounts, func(m plan.Mount) bool { return file.Within(path, m.Dst) || file.Within(m.Dst, path) }) ||
		slices.ContainsFunc(c.state, func(k stateItem) bool { return file.Within(path, filepath.Join(home, k.Path)) }) ||
		slices.ContainsFunc(c.Files, func(f plan.File) bool { return f.Dst == path })
}

// Plant writes the decoys where the sandbox is about to mount them from, and begins to
// watch them. Once they are mounted their names on the host are not needed any more:
// bare takes them away, so that nothing is left however the session ends.
func (l *Lure) Plant(sessions func() ([]string, error), served bool, told func(name string)) (io.Closer, error) {
	if l == nil {
		return io.NopCloser(nil), nil
	}
	sweepDecoys(filepath.Dir(l.dir), sessions)
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return io.NopCloser(nil), err
	}
	hosts, err := decoy.Plant(l.dir, l.files)
	if err != nil {
		l.Bare()
		return io.NopCloser(nil), fmt.Errorf("plant decoys: %w", err)
	}
	w, err := decoy.Watch(hosts, served, func(r decoy.Read) { told(r.Name) })
	if err != nil {
		l.Bare()
		return io.NopCloser(nil), fmt.Errorf("watch decoys: %w", err)
	}
	return w, nil
}

func (l *Lure) Bare() error {
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

// WasRead remembers a decoy that somebody opened. It is false for one that was opened before.
func (l *Lure) WasRead(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !slices.Contains(l.read, name)
	if first {
		l.read = append(l.read, name)
	}
	return first
}

// ReadSoFar lists the decoys that were read.
func (l *Lure) ReadSoFar() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.read)
}

// Laid are the paths at which a launch lays decoys: a look lays none.
func (l *Lure) Laid(p *plan.Plan) []string {
	if l == nil {
		return nil
	}
	var out []string
	for _, f := range l.files {
		taken := slices.ContainsFunc(p.Ops, func(o plan.Op) bool {
			at := string(o.Dst)
			return o.Do != plan.DoTmpfs && o.Do != plan.DoReadOnly && o.Why != DecoyWhy && (file.Within(f.Path, at) || file.Within(at, f.Path))
		})
		if !taken {
			out = append(out, f.Path)
		}
	}
	return out
}

// OneDecoy looks for one value, and lays nothing.
func OneDecoy(name, secret string) (*Lure, error) {
	set, err := leakscan.New(leakscan.Named{Name: name, Secret: secret})
	return &Lure{Needles: set}, err
}
