package sessions

import (
	"os"
	"path/filepath"
	"testing"
)

// A directory above several repositories is shown after a person said so, and then without
// a question. No is the default, and nothing is made then.
func TestSeveralRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(w.project, name, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := w.sit("run", "--", "touch", "ran")
	p.sees("such as one and two")
	p.sees("Show them all? [y/N]")
	p.types("\r")
	if status := p.leaves(); status != 125 {
		t.Errorf("no: status %d", status)
	}
	if _, err := os.Lstat(filepath.Join(w.project, "ran")); err == nil {
		t.Error("it ran all the same")
	}
	p = w.sit("run", "--", "touch", "ran")
	p.sees("Show them all? [y/N]")
	p.types("y\r")
	if status := p.leaves(); status != 0 {
		t.Errorf("yes: status %d", status)
	}
	if _, err := os.Lstat(filepath.Join(w.project, "ran")); err != nil {
		t.Error(err)
	}
	p = w.sit("run", "--", "echo", "again-it-ran")
	p.sees("again-it-ran")
	if p.shows("Show them all?") {
		t.Error("it asks twice")
	}
	p.leaves()
}
