package expect

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/reason"
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
	Subject string         `json:"subject"`
	Finding reason.Finding `json:"finding"`
	Pass    bool           `json:"pass"`
	Live    *Live          `json:"live,omitempty"`
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
func (f *File) Run(w *reason.World, at Place, all bool) []Result {
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
func (want Want) met(v reason.Verdict) bool {
	switch want {
	case Allow:
		return v == reason.Allowed || v == reason.Private
	case Hold:
		return v == reason.Held
	}
	return v != reason.Allowed
}

// ask asks about one subject.
func (l *Line) ask(w *reason.World, subject string) reason.Finding {
	switch l.Access {
	case reason.Connect, reason.Resolve:
		t, err := reason.ParseHost(subject)
		if err != nil {
			return reason.Finding{Access: l.Access, Verdict: reason.Denied, Reason: err.Error()} // Parse has looked
		}
		return w.Reaches(t, l.Access)
	case reason.Pass:
		return w.Passes(subject)
	case reason.ToPush:
		return w.Pushes(subject)
	}
	return w.IfThere(subject, l.Access)
}

// Names lists the variables that lines are about.
func (f *File) Names() []string {
	var out []string
	for _, l := range f.Lines {
		if l.Access == reason.Pass && !slices.Contains(out, l.Subject) {
			out = append(out, l.Subject)
		}
	}
	return out
}

// subjects are what a line is about: itself, or what is below it and a name that is
// not there yet.
func (l *Line) subjects(at Place) []string {
	if l.Access != reason.Read && l.Access != reason.Write && l.Access != reason.Execute {
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
