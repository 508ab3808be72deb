package audit

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// Severity is how bad a finding is.
type Severity string

// The severities, worst first. Info is for the inventory and no weakness.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Info     Severity = "info"
)

// Severities lists them, worst first.
func Severities() []Severity { return []Severity{Critical, High, Medium, Low, Info} }

func (s Severity) rank() int { return slices.Index(Severities(), s) }

// Check is one row: what is looked for, and what it means to find it.
type Check struct {
	ID       string
	Severity Severity
	Title    string // what is wrong, as a sentence without its full stop
	Gets     string // what an attacker gets
	Fix      string // one command or one line; {} stands for what the hit is about

	probe func(*look) []hit
}

// hit is one place where a check found something.
type hit struct {
	path     string // or the name of what is no file
	line     int
	detail   string   // evidence: names, never values
	about    string   // for {} in Fix; the path if empty
	severity Severity // if not the row's
	fix      string   // if not the row's
}

// Where is a place. Path is absolute, or a name where Kind says that it is no file.
type Where struct {
	Kind string `json:"kind"` // "home", "project", "machine", "environment", "system"
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// Finding is one weakness at one place.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`
	Where    Where    `json:"where"`
	Detail   string   `json:"detail,omitempty"`
	Gets     string   `json:"attacker_gets"`
	Fix      string   `json:"fix"`
}

// Report is the result of an audit.
type Report struct {
	Findings []Finding `json:"findings"` // worst first
	Rung     Rung      `json:"rung"`
	Triggers []Trigger `json:"triggers"`
	Trifecta Trifecta  `json:"trifecta"` // of the bare agent, or of one behind a shadow
	Notes    []string  `json:"notes,omitempty"`
	Checks   int       `json:"checks"` // how many rows were asked
}

// Count says how many findings there are of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Weak reports whether there is a finding that is more than inventory.
func (r *Report) Weak() bool { return len(r.Findings) > r.Count(Info) }

// DropInventory leaves what is a weakness.
func (r *Report) DropInventory() {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Severity == Info })
}

// Shown is a place for people, short.
func (w *World) Shown(at Where) string {
	text := at.Path
	switch {
	case at.Kind == "environment":
		return "variable " + at.Path
	case at.Kind == "project" && at.Path != w.Project:
		text = w.below(at)
	case file.Within(at.Path, w.Home):
		text = "~" + strings.TrimPrefix(at.Path, w.Home)
	}
	if at.Line > 0 {
		text = fmt.Sprintf("%s:%d", text, at.Line)
	}
	return text
}

// maxHits is how many places of one row are told: a project can have any number.
const maxHits = 100

// Audit asks every row. It stops between rows when ctx ends, and says so.
func Audit(ctx context.Context, w World) *Report {
	l := &look{World: w, ctx: ctx, docs: map[string]*document{}}
	l.agents = l.findAgents()
	l.repo = l.findRepository()
	r := &Report{Findings: []Finding{}, Triggers: []Trigger{}}
	for _, c := range Checks() {
		if err := ctx.Err(); err != nil {
			l.notes = append(l.notes, fmt.Sprintf("out of time before %s: it and what follows was not looked at", c.ID))
			break
		}
		r.Checks++
		hits := c.probe(l)
		if len(hits) > maxHits {
			l.notes = append(l.notes, fmt.Sprintf("%s: %d places, of which %d are shown", c.ID, len(hits), maxHits))
			hits = hits[:maxHits]
		}
		for _, h := range hits {
			r.Findings = append(r.Findings, l.finding(c, h))
		}
	}
	r.Findings = distinct(r.Findings)
	r.Rung, r.Triggers = l.rung(), l.triggers()
	r.Trifecta = Meter(l.exposure(r))
	r.Notes = l.notes
	return r
}

func (l *look) finding(c Check, h hit) Finding {
	f := Finding{ID: c.ID, Severity: c.Severity, Title: c.Title, Gets: c.Gets, Fix: c.Fix}
	f.Where = l.where(h)
	f.Detail = evidence(h.detail)
	if h.severity != "" {
		f.Severity = h.severity
	}
	if h.fix != "" {
		f.Fix = h.fix
	}
	about := h.about
	if about == "" {
		about = l.word(h.path)
	}
	f.Fix = strings.ReplaceAll(f.Fix, "{}", about)
	return f
}

// evidence bounds what strangers can have us say, and is the last look for a secret.
func evidence(text string) string {
	if shapes().MatchString(text) {
		return "not shown: it has the shape of a secret"
	}
	const most = 160
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

func (w *World) where(h hit) Where {
	at := Where{Path: h.path, Line: h.line}
	switch {
	case strings.HasPrefix(h.path, "$"):
		at.Kind, at.Path = "environment", h.path[1:]
	case !filepath.IsAbs(h.path):
		at.Kind = "system"
	case w.Project != "" && file.Within(h.path, w.Project):
		at.Kind = "project"
	case file.Within(h.path, w.Home):
		at.Kind = "home"
	default:
		at.Kind = "machine"
		at.Path = strings.TrimPrefix(h.path, w.Root)
	}
	return at
}

var plainWord = lazy(`^[\w@%+=:,./-]+$`)

// word spells a path for a shell, short where that is safe.
func (w *World) word(path string) string {
	if path == w.Home {
		return "~"
	}
	if rel, ok := strings.CutPrefix(path, w.Home+"/"); ok && plainWord().MatchString(rel) {
		return "~/" + rel
	}
	path = strings.TrimPrefix(path, w.Root)
	if plainWord().MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// distinct sorts, and keeps one finding of a row at a place. Where another row says
// more of a place, the general one about what a project runs is left out.
func distinct(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Where.Path, b.Where.Path), cmp.Compare(a.Where.Line, b.Where.Line))
	})
	list = slices.CompactFunc(list, func(a, b Finding) bool { return a.ID == b.ID && a.Where == b.Where })
	return slices.DeleteFunc(list, func(f Finding) bool {
		return f.ID == OpenedID && slices.ContainsFunc(list, func(o Finding) bool {
			return o.ID != f.ID && (o.Where == f.Where || o.ID == brokenID && o.Where.Path == f.Where.Path)
		})
	})
}

// Checks lists every row, by id.
func Checks() []Check {
	return slices.Concat(startChecks, claudeChecks, hookChecks, serverChecks, codexChecks, geminiChecks, opencodeChecks,
		keyChecks, plainChecks, looseChecks, socketChecks, gitChecks, rootChecks, kernelChecks, ownChecks, projectChecks, lastChecks)
}
