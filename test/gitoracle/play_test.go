package gitoracle

import (
	_ "embed"
	"fmt"
	"os"
	"testing"
)

// hostScript is all that runs on the host after a session.
//
//go:embed testdata/host.sh
var hostScript string

// pipelines are the ways by which changes of a session come to the host.
var pipelines = []string{"live+apply", "review+apply", "live", "live+undo", "review"}

// play is a hostile script: what it begins with, and its sessions, a list of lines
// each.
type play struct {
	name     string
	base     base
	sessions [][]string
	from     string // the worktree or submodule that sessions start in
}

// perform plays it in a scene of its own and lets the host go on afterwards.
func (p play) perform(t testing.TB, pipeline string) ([]finding, error) {
	s := newScene(t, p.base)
	defer s.close()
	s.from = p.from
	for _, lines := range p.sessions {
		if err := s.through(pipeline, lines); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", p.name, pipeline, err)
		}
		// A session that ran something on the host by itself needs no git for it.
		if _, err := os.Lstat(s.canary()); err == nil && pipeline != "none" {
			return []finding{{"canary", "before the host did anything"}}, nil
		}
	}
	return s.watch(hostScript)
}

// through plays one session and brings its changes to the host.
func (s *scene) through(pipeline string, lines []string) error {
	view := "live"
	switch pipeline {
	case "none":
		return s.unfenced(lines)
	case "review", "review+apply":
		view = "review"
	}
	if _, err := s.session(view, lines); err != nil {
		return err
	}
	switch pipeline {
	case "live+apply", "review+apply":
		return s.applyHarmless()
	case "live+undo":
		return s.undo()
	}
	return nil
}
