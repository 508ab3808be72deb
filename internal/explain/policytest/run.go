package policytest

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/policy"
)

// Place is what relative paths and ~ mean.
type Place struct{ Dir, Home string }

// Result is what became of one line.
type Result struct {
	Source policy.Source `json:"source"`
	Text   string        `json:"text"`
	Pass   bool          `json:"pass"`
	Tried  int           `json:"tried"` // subjects: one, or those that stars stand for
	Cases  []Case        `json:"cases,omitempty"`
}

// Case is one subject of a line. Of many only those are kept that are against it, or
// were tried live.
type Case struct {
	Subject string      `json:"subject"`
	Finding why.Finding `json:"finding"`
	Pass    bool        `json:"pass"`
	Live    *Live       `json:"live,omitempty"`
}

// Live is what a probe met inside.
type Live struct {
	Reached bool   `json:"reached"`           // the host's own: seen, changed, passed or connected to
	Met     string `json:"met"`               // what the probe says
	Skipped string `json:"skipped,omitempty"` // why nothing was tried
	Differs bool   `json:"differs"`           // from what was said beforehand
}

// madeUp is the name that stands for what will be there tomorrow.
const madeUp = "ringfence-made-up-name"

// Bounds of what stars stand for.
const (
	maxSubjects = 200
	maxDepth    = 6
)

// Run holds every line against a world. all keeps every case, not only those that are
// against their line.
func (f *File) Run(w *why.World, at Place, all bool) []Result {
	out := make([]Result, len(f.Lines))
	for i := range f.Lines {
		l := &f.Lines[i]
		r := Result{Source: l.Source, Text: l.Text, Pass: true}
		for _, s := range l.subjects(at) {
			c := Case{Subject: s, Finding: l.ask(w, s)}
			c.Pass = l.Want.met(c.Finding.Verdict)
			r.Tried++
			r.Pass = r.Pass && c.Pass
			if all || !c.Pass {
				r.Cases = append(r.Cases, c)
			}
		}
		out[i] = r
	}
	return out
}

// met says whether a verdict is what was wanted.
func (want Want) met(v why.Verdict) bool {
	switch want {
	case Allow:
		return v == why.Allowed || v == why.Private
	case Hold:
		return v == why.Held
	}
	return v != why.Allowed
}

// ask asks about one subject.
func (l *Line) ask(w *why.World, subject string) why.Finding {
	switch l.Access {
	case why.Connect, why.Resolve:
		t, err := why.ParseHost(subject)
		if err != nil {
			return why.Finding{Access: l.Access, Verdict: why.Denied, Reason: err.Error()} // Parse has looked
		}
		return w.Reaches(t, l.Access)
	case why.Pass:
		return w.Passes(subject)
	case why.ToPush:
		return w.Pushes(subject)
	}
	return w.IfThere(subject, l.Access)
}

// Names lists the variables that lines are about.
func (f *File) Names() []string {
	var out []string
	for _, l := range f.Lines {
		if l.Access == why.Pass && !slices.Contains(out, l.Subject) {
			out = append(out, l.Subject)
		}
	}
	return out
}

// subjects are what a line is about: itself, or what is below it and a name that is
// not there yet.
func (l *Line) subjects(at Place) []string {
	if l.Access != why.Read && l.Access != why.Write && l.Access != why.Execute {
		return []string{l.Subject}
	}
	root := at.absolute(l.Subject)
	if !l.Below {
		return []string{root}
	}
	out := []string{filepath.Join(root, madeUp), filepath.Join(root, madeUp, madeUp)}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case len(out) >= maxSubjects:
			return fs.SkipAll
		case err != nil:
			return nil // what we may not look at the agent may not either
		case path != root:
			out = append(out, path)
		}
		if d.IsDir() && strings.Count(path[len(root):], "/") >= maxDepth {
			return fs.SkipDir
		}
		return nil
	})
	return out
}

func (p Place) absolute(s string) string {
	if rest, ok := strings.CutPrefix(s, "~"); ok {
		return filepath.Join(p.Home, rest)
	}
	if filepath.IsAbs(s) {
		return filepath.Clean(s)
	}
	return filepath.Join(p.Dir, s)
}
