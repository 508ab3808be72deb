package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// maxLinks is how many the kernel follows.
const maxLinks = 40

// RefusePlanted refuses a path that passes through a link which lies in a project and leads
// out of it: an agent may have put it there since the user last looked. It goes link by
// link: one of the user's own may lead to one of a project's. Nothing is asked of a place
// that such a link names, which may be an automounter's.
func (p Person) RefusePlanted(given string) error {
	w := plantedWalk{at: "/", names: elements(given)}
	for len(w.names) > 0 {
		if err := w.step(p.projectsAround); err != nil {
			return err
		}
	}
	return nil
}

// projectsAround are the directories of sessions that a directory lies in.
func (p Person) projectsAround(dir string) (out []string) {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if p.Dirs.Has(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// plantedWalk is a way from the root.
type plantedWalk struct {
	at    string // without links
	names []string
	links int
	held  []held
}

// held is a link in a project: the names that it put there must not lead out.
type held struct {
	link, project string
	rest          int // how many names are left when its own are used up
}

func (w *plantedWalk) step(projects func(string) []string) error {
	dir, name := w.at, w.names[0]
	w.at, w.names = filepath.Join(dir, name), w.names[1:] // "..": dir has no links
	for _, h := range w.held {
		// Above the project the way may still lead back to it.
		if !file.Within(w.at, h.project) && !file.Within(h.project, w.at) {
			return h.refuse()
		}
	}
	if text, err := os.Readlink(w.at); err == nil {
		if w.links++; w.links > maxLinks {
			w.names = nil // opening it will say why
			return nil
		}
		for _, project := range projects(dir) {
			w.held = append(w.held, held{w.at, project, len(w.names)})
		}
		if w.at = dir; filepath.IsAbs(text) {
			w.at = "/"
		}
		w.names = append(elements(text), w.names...)
	}
	return w.settle()
}

// settle lets go of links whose names are used up: they led where the way is now.
func (w *plantedWalk) settle() error {
	kept := w.held[:0]
	for _, h := range w.held {
		switch {
		case len(w.names) > h.rest:
			kept = append(kept, h)
		case !file.Within(w.at, h.project):
			return h.refuse()
		}
	}
	w.held = kept
	return nil
}

func (h held) refuse() error {
	return fmt.Errorf("%q is a link in the project %q and leads out of it", h.link, h.project)
}

// elements are the names of a path, one by one.
func elements(path string) (out []string) {
	for _, name := range strings.Split(path, "/") {
		if name != "" && name != "." {
			out = append(out, name)
		}
	}
	return out
}
