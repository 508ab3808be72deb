package state_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/state"
)

// A program that an agent can have written is never the one that the host runs, however PATH
// leads to it: by its name, by a link, or by a relative place.
func TestProgramOfTheHost(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := state.Dirs{State: filepath.Join(top, "state")}
	plant := func(rel string) string {
		path := filepath.Join(top, rel, "frob")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	honest := plant("usr/bin")
	own := filepath.Dir(plant("project/.venv/bin"))
	marked := filepath.Dir(plant("worktree/bin"))
	inState := filepath.Dir(plant("state/projects/x/home/bin"))
	granted := filepath.Dir(plant("granted/bin"))
	open := filepath.Dir(plant("open"))
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	p, err := d.Open(filepath.Join(top, "project"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := d.Mark(filepath.Join(top, "worktree")); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(top, "linked")
	if err := os.Symlink(own, linked); err != nil {
		t.Fatal(err)
	}
	links := filepath.Join(top, "links")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(own, "frob"), filepath.Join(links, "frob")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(honest))
	hostile := []string{own, marked, inState, granted, open, linked, links, ".", "", filepath.Join(top, "missing")}
	refuse := state.Below("", filepath.Join(top, "granted"))
	got, err := d.Program("frob", strings.Join(append(hostile, filepath.Dir(honest)), ":"), refuse)
	if got != honest || err != nil {
		t.Errorf("%s %v", got, err)
	}
	for _, dir := range hostile {
		if got, err := d.Program("frob", dir, refuse); err == nil {
			t.Errorf("%q: %s is run", dir, got)
		}
	}
	if _, err := d.Program("frob", granted, nil); err != nil { // the control
		t.Error(err)
	}
	if _, err := (state.Dirs{}).Program("frob", open, nil); err == nil {
		t.Error("everybody may change it")
	}
}
