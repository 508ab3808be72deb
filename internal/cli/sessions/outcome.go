package sessions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/workspace/overlay"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// maxTold is how many of the paths that went well are named. Those that did not are named
// all, and --verbose and --json name every one.
const maxTold = 10

// told says how much is printed of what became of the paths.
type told struct{ json, verbose bool }

type outcomeJSON struct {
	Tree      string `json:"tree"`
	Path      string `json:"path"`
	PathBytes []byte `json:"path_bytes,omitempty"`
	Outcome   string `json:"outcome"`
	Why       string `json:"why,omitempty"`
}

// sayWho names the session that something is done with, before it is done.
func sayWho(c *command.Console, do string, w *review.Work, count int) {
	c.Say("%s: %s, %s", do, who(w), plainCount(count, "change", "changes"))
}

// who names a session for people.
func who(w *review.Work) string {
	agent := w.Agent
	if agent == "" {
		agent = "no agent"
	}
	return fmt.Sprintf("session %s (%s, %s ago)", w.ID, command.Inert(agent), ago(w.Changed()))
}

func plainCount(n int, one, more string) string {
	return fmt.Sprintf("%d %s", n, command.Plural(n, one, more))
}

// tell prints what became of the paths, and returns the status of the command.
func tell(c *command.Console, w *review.Work, out []review.Outcome, how told, failed error) (int, error) {
	out = slices.Clone(out)
	if !how.json {
		slices.SortStableFunc(out, func(a, b review.Outcome) int { return cmp.Compare(weight(a), weight(b)) })
	}
	status, conflicts, fine := 0, 0, 0
	rows := []outcomeJSON{}
	for _, o := range out {
		if o.Failed() {
			status = 1
			conflicts++
		} else if fine++; fine > maxTold && !how.verbose && !how.json {
			continue
		}
		p := review.NewName(o.Path)
		rows = append(rows, outcomeJSON{review.NewName(w.Trees[o.Tree].Path).Text, p.Text, p.Bytes, o.Result, o.Why})
		if !how.json {
			fmt.Fprintln(c.Out, command.Inert(outcomeLine(w, o)))
		}
	}
	if how.json {
		err := c.JSONLine(map[string]any{"version": 1, "session": w.ID, "outcomes": rows})
		if failed == nil {
			failed = err
		}
	} else {
		counts(c, out, fine > maxTold && !how.verbose)
	}
	if conflicts > 0 {
		c.Say("%s as the host has it", counted(conflicts, "was left", "were left"))
	}
	if failed != nil {
		return 1, failed
	}
	return status, nil
}

func outcomeLine(w *review.Work, o review.Outcome) string {
	line := fmt.Sprintf("%-9s %s", o.Result, showIn(w, o.Tree, o.Path))
	if o.Why != "" {
		line += ": " + o.Why
	}
	return line
}

// weight puts first what a person must see: what was left, then what people write, then
// git's own data, and what needed nothing last.
func weight(o review.Outcome) int {
	switch {
	case o.Failed():
		return 0
	case o.Result == string(overlay.Same):
		return 3
	case strings.Contains("/"+o.Path, "/.git/"):
		return 2
	}
	return 1
}

// counts says how many paths had which outcome.
func counts(c *command.Console, out []review.Outcome, more bool) {
	n := map[string]int{}
	var words []string
	for _, o := range out {
		if n[o.Result]++; n[o.Result] == 1 {
			words = append(words, o.Result)
		}
	}
	if len(words) == 0 {
		return
	}
	for i, word := range words {
		words[i] = fmt.Sprintf("%d %s", n[word], word)
	}
	text := strings.Join(words, ", ")
	if more {
		text += "; --verbose and --json name each"
	}
	c.Say("%s", text)
}

// anyDone says whether something was changed on the host.
func anyDone(out []review.Outcome) bool {
	return slices.ContainsFunc(out, func(o review.Outcome) bool {
		return !slices.Contains([]string{string(overlay.Conflict), string(overlay.Same), review.Masked}, o.Result)
	})
}
