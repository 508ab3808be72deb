package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/history"
	"ringfence.dev/ringfence/internal/session/launch"
)

// HistoryFile is what a project's state remembers of conversations that were copied.
const HistoryFile = "history.json"

// shareHistory brings the conversations that were begun outside, if the user said so.
func (s *Session) shareHistory(out *launch.Contribution) {
	if !s.Policy.Agent.Shares() || s.Profile.Name == agent.Command {
		return
	}
	if s.Profile.History.Path == "" {
		out.Notice(fmt.Sprintf("conversations of %s are not shared: ringfence does not know how it keeps them", s.Profile.Title))
		return
	}
	if s.project == nil {
		return
	}
	s.shares = s.sharesOf()
	r := s.eachShare(history.Share.In)
	s.sharedIn = r.Copied
	for _, l := range r.Left {
		out.Notice(fmt.Sprintf("conversation %s did not come inside: %s", plan.Show(l.Name), l.Why))
	}
	for _, sh := range s.shares {
		out.Notice(fmt.Sprintf("history    shared: what is said inside is copied to %s at the end, where %s on the host reads it", plan.Show(sh.Host), s.Profile.Title))
	}
}

// sharesOf are the directories of conversations: of where the agent starts, and of the
// workspace around it.
func (s *Session) sharesOf() (out []history.Share) {
	dirs := []string{s.Dir, s.Workspaces[0].Path}
	for _, dir := range slices.Compact(dirs) {
		slug := history.Slug(dir)
		if slug == "" {
			continue
		}
		rel := strings.ReplaceAll(strings.TrimPrefix(s.Profile.History.Path, "~/"), agent.SlugMark, slug)
		out = append(out, history.Share{
			Host: filepath.Join(s.User.Home, rel), Inside: func() (*os.File, error) { return s.project.OpenDir(rel) },
			Trusted: s.notWritten, Workspaces: s.Paths(), Memory: s.project.Memory(HistoryFile), Session: s.ID,
		})
	}
	return out
}

// notWritten refuses a directory that an agent can write: a link there would lead a copy
// anywhere.
func (s *Session) notWritten(path string) error {
	if s.AgentWrites(path) {
		return errors.New("it is not yours alone, or an agent can write it")
	}
	return nil
}

func (s *Session) eachShare(do func(history.Share) (history.Report, error)) (all history.Report) {
	for _, sh := range s.shares {
		r, err := do(sh)
		all.Add(r)
		if err != nil {
			all.Left = append(all.Left, history.Left{Name: sh.Host, Why: err.Error()})
		}
	}
	return all
}

// ShareOut copies what was said inside to the host, once nothing runs any more.
func (s *Session) ShareOut() history.Report { return s.eachShare(history.Share.Out) }

// SharedIn is the record of what came from the host.
func (s *Session) SharedIn() []journal.Record { return sharedRecords("in", s.sharedIn) }

// SharedOut is the record of what went there.
func SharedOut(r history.Report) []journal.Record { return sharedRecords("out", r.Copied) }

func sharedRecords(way string, names []string) []journal.Record {
	if len(names) == 0 {
		return nil
	}
	return journal.Split(journal.Record{Kind: journal.Session, Event: journal.Shared, State: way, Count: len(names)}, names)
}
