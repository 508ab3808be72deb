// Package ready keeps packages in the form in which package managers keep them
// themselves: as a layer that a session sees, read-only, below a cache of its own. What is
// there already the package manager does not ask for.
//
// Nothing comes from a session's own cache. What the door has handed out, proved, it puts
// here as well, and it is seen by sessions to which the door would hand it out by the very
// same judgement: those with the same registries, asked in the same way, and with the same
// rules. A view is for one such judgement; a session whose rules differ in one word has
// another view, and asks the door.
//
// A layer does not change once it has its name, because it may be mounted: what comes
// later is another layer. Who shows layers has them locked, and what is locked stays.
//
// Left at risk: who writes as the user on the host can write here as everywhere else.
package ready

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// Dir is where views are, below the directory of the store.
const Dir = "ready"

// maxLayers is how many a session shows. Where there are more, they are made one.
const maxLayers = 8

// View is what sessions with one judgement are shown.
type View struct {
	root  string        // of all views
	dir   string        // its own
	lasts time.Duration // how long what was judged is not asked about again; 0: for ever
}

// At is the view of a tool for a judgement. What does not come to the same bytes of JSON is
// not the same.
func At(state, tool string, judged any, lasts time.Duration) (*View, error) {
	text, err := json.Marshal(judged)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	root := filepath.Join(state, "registry", Dir)
	return &View{root, filepath.Join(root, tool+"-"+hex.EncodeToString(sum[:16])), lasts}, nil
}

// layer is what the name of one says.
type layer struct {
	path         string
	since, until int64 // seconds; until 0: for ever
}

func (l layer) over(now time.Time) bool { return l.until != 0 && l.until <= now.Unix() }

func (l layer) name() string { return fmt.Sprintf("%d-%d-%s", l.since, l.until, rand.Text()) }

func parseLayer(dir, name string) (layer, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return layer{}, false
	}
	since, err := strconv.ParseInt(parts[0], 10, 64)
	until, err2 := strconv.ParseInt(parts[1], 10, 64)
	return layer{filepath.Join(dir, name), since, until}, err == nil && err2 == nil
}

// layers lists those of a view, the youngest first.
func layers(dir string) (out []layer) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nothing is ready
	}
	for _, e := range entries {
		if l, ok := parseLayer(dir, e.Name()); ok && e.IsDir() {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b layer) int { return cmp.Or(cmp.Compare(b.since, a.since), cmp.Compare(b.path, a.path)) })
	return out
}

// Held are layers that stay as they are until they are let go.
type Held struct {
	Paths []string
	locks []*os.File
}

// Hold takes the layers that a session is to be shown.
func (v *View) Hold(now time.Time) *Held {
	h := &Held{}
	for _, l := range layers(v.dir) {
		if l.over(now) || len(h.Paths) == maxLayers {
			continue
		}
		if f := hold(l.path, unix.LOCK_SH); f != nil {
			os.Chtimes(l.path, now, now) // it was used: what was not is the first to go
			h.Paths, h.locks = append(h.Paths, l.path), append(h.locks, f)
		}
	}
	return h
}

// hold locks a layer that nobody is about to remove; nil: somebody is.
func hold(path string, how int) *os.File {
	f, err := file.LockDir(path, how|unix.LOCK_NB)
	if err != nil {
		return nil
	}
	if !file.Named(unix.AT_FDCWD, path, int(f.Fd())) {
		f.Close()
		return nil
	}
	return f
}

// has says whether a name is in one of them.
func (h *Held) has(name string) bool {
	return slices.ContainsFunc(h.Paths, func(dir string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// Close lets them go.
func (h *Held) Close() {
	if h == nil {
		return
	}
	for _, f := range h.locks {
		f.Close()
	}
	h.Paths, h.locks = nil, nil
}
