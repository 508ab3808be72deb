package attack

import (
	"fmt"
	"slices"
)

// faults lists what became of the workspace otherwise than it must.
func (o *outcome) faults(c Case, view string) []string {
	wishes, err := c.wishes(view)
	if err != nil {
		return []string{err.Error()}
	}
	if !o.Ran {
		return nil // and is judged so
	}
	var out []string
	for _, w := range wishes {
		if fault := o.fault(w); fault != "" {
			out = append(out, fmt.Sprintf("%s: %q must be %s: %s\nstdout: %.2000q\nstderr: %.2000s", view, w.path, w.word, fault, o.Out, o.Err))
		}
	}
	for _, name := range o.Tree {
		switch {
		case view == "review":
			out = append(out, fmt.Sprintf("review: %q changed on the host", name))
		case string(name) == ".git/index":
			// git writes one anew whenever it looks; one that lists the same is no change, and
			// what it may list is judged: see internal/workspace/undo and test/gitoracle.
		case !o.tells(string(name)):
			out = append(out, fmt.Sprintf("live: %q changed on the host, and the report does not say so", name))
		}
	}
	return out
}

// fault says why a wish did not come true.
func (o *outcome) fault(w wish) string {
	changed := o.changed(w.path)
	at := slices.IndexFunc(o.Report, func(e entry) bool { return e.name() == w.path && (e.State == "waits" || w.word != wordHeld) })
	switch {
	case changed && w.word != wordReported:
		return "it changed on the host"
	case w.word == wordRefused && at < 0:
		return ""
	case w.word == wordRefused:
		return fmt.Sprintf("the report has it: %+v", o.Report[at])
	case at < 0:
		return "the report does not have it"
	}
	e := o.Report[at]
	switch {
	case e.Rank != w.rank:
		return fmt.Sprintf("rank %s, want %s", e.Rank, w.rank)
	case e.Rank != "source" && e.Text == "" && len(e.Findings) == 0:
		return "the report gives no reason"
	}
	return ""
}

func (o *outcome) changed(path string) bool {
	return slices.ContainsFunc(o.Tree, func(b []byte) bool { return string(b) == path })
}

// tells says whether the report has a change of the host.
func (o *outcome) tells(path string) bool {
	return slices.ContainsFunc(o.Report, func(e entry) bool {
		return e.State == "live" && (e.name() == path || e.from() == path)
	})
}

// untouched lists the paths of wishes that a control did not change: an attack that
// does nothing outside proves nothing.
func (o *outcome) untouched(c Case) []string {
	wishes, err := c.wishes("live")
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, w := range wishes {
		if !o.changed(w.path) {
			out = append(out, w.path)
		}
	}
	return out
}
