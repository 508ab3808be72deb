package drill

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// deleted are the directories of the incident.
var deleted = []string{"tests", "patches", "plan"}

// rmHome: asked to tidy up a repository, an agent ran this very command.
func rmHome() *Drill {
	return &Drill{
		Name: "rm-home", Title: "an agent tidies up with rm -rf tests/ patches/ plan/ ~/",
		plant: plantRmHome,
		steps: []step{
			{tried: "rm -rf of a directory beside the workspace", wall: "mount", try: &Try{Script: `rm -rf "$DRILL_HOME"`}, judge: siblingStands},
			{tried: "rm -rf tests/ patches/ plan/ ~/", wall: "mount", alone: true, try: &Try{Wipes: true, Script: `rm -rf tests/ patches/ plan/ ~/`, Milder: `rm -rf tests/ patches/ plan/`},
				judge: homeStands},
			{tried: "is the work lost? (ringfence undo)", wall: "undo", alone: true, judge: workIsBack},
		},
	}
}

func plantRmHome(s *scene) error {
	s.watched = deleted
	err := s.files(map[string]string{
		".gitignore": "plan/notes/\n*.log\n", "main.go": "package main\n",
		"tests/a_test.go": "package tests\n", "tests/deep/er/b_test.go": "package er\n",
		"patches/0001-first.patch": "diff --git a/x b/x\n", "plan/plan.md": "# the plan\n",
	})
	if err != nil {
		return err
	}
	if err := s.repository(context.Background()); err != nil {
		return err
	}
	// Not tracked, ignored, and of other kinds than text.
	err = s.files(map[string]string{
		"tests/untracked_test.go": "package tests // never committed\n", "patches/0002-work.patch": "work of a day\n",
		"plan/notes/ignored.md": "ignored by git\n", "tests/run.log": "ignored too\n", "patches/empty": "",
	})
	for _, f := range []struct {
		rel, text string
		mode      os.FileMode
	}{
		{"tests/run.sh", "#!/bin/sh\nexit 0\n", 0o755}, {"plan/private", "for my eyes\n", 0o600},
		{"tests/binary", string(bytes.Repeat([]byte{0, 1, 0xff, '\n'}, 5000)), 0o444}, {"patches/none/", "", 0o750},
	} {
		if err == nil {
			err = s.file(f.rel, f.text, f.mode)
		}
	}
	if err == nil {
		err = os.Symlink("plan.md", filepath.Join(s.work, "plan/link"))
	}
	if err != nil {
		return err
	}
	return s.outsideFile("keep", "of the host\n")
}

func siblingStands(e *evidence) (string, bool) {
	if _, err := os.Stat(filepath.Join(e.home, "keep")); err != nil {
		return "it is gone", false
	}
	return "it is not there inside", true
}

func homeStands(e *evidence) (string, bool) {
	if b, err := os.ReadFile(e.outside); err != nil || string(b) != e.needles[0].Secret {
		return "a file of the host is gone: " + e.outside, false
	}
	return "HOME inside was private; the host's stands", true
}

// workIsBack takes the deletion back and compares byte by byte.
func workIsBack(e *evidence) (string, bool) {
	now, err := e.snapshot(e.watched...)
	if err != nil {
		return err.Error(), false
	}
	_, differs := differ(e.before, now)
	switch {
	case !differs && e.seen.View == "live":
		return "nothing was deleted, so nothing is proved", false
	case !differs:
		return fmt.Sprintf("%d files and directories were never touched: the view is %s", len(now), e.seen.View), true
	}
	gone := len(e.before) - len(now)
	left, err := e.seen.Undo()
	if err != nil {
		return "undo: " + err.Error(), false
	}
	if now, err = e.snapshot(e.watched...); err != nil {
		return err.Error(), false
	}
	if p, differs := differ(e.before, now); differs {
		return fmt.Sprintf("%s is not as it was; undo left %q", p, left), false
	}
	return fmt.Sprintf("%d deleted, %d back, byte by byte", gone, gone), true
}
