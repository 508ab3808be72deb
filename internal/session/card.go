package session

import (
	"cmp"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Card is what a person is told of a session. Every start shows its head, its network and
// what is unusual, which are three lines; --verbose and `ringfence status` show all rows.
// Who has something to tell adds a row, and where it is not the default, a few words to
// Unusual.
type Card struct {
	Head    string
	Network string
	Rows    []control.Row
	Unusual []string
}

// Card tells of a session whose limits are known.
func (s *Session) Card(limits cgroup.Report) *Card {
	c := &Card{Head: fmt.Sprintf("%s · %s · %s", s.ID, s.Profile.Title, s.Where()), Network: s.Network()}
	for _, ws := range s.Workspaces {
		c.row("workspace", s.View(ws)+" "+plan.Show(ws.Path))
	}
	walls, all := len(s.Plan.Walls), len(plan.AllWalls())
	c.row("walls", fmt.Sprintf("%d of %d   network  %s", walls, all, c.Network))
	if walls < all {
		c.Unusual = append(c.Unusual, fmt.Sprintf("%d of %d walls", walls, all))
	}
	level := s.Rung.Offer().Level
	c.row("level", level+"  "+audit.BoundaryOf(level).Title)
	if s.Policy.Project.For != nil || len(s.Policy.Project.Demanded) > 0 {
		c.row("for", s.Policy.Task())
		task := "for " + s.Policy.Task()
		if s.Policy.WantsHighest(false) && level < "L3" {
			on := "the host's kernel"
			if o := s.Rung.Offer(); !strings.HasPrefix(o.Kernel, "the host's") {
				on = "a kernel that is " + o.Less
			}
			task += ", on " + on + " (ringfence rungs)"
		}
		c.Unusual = append([]string{task}, c.Unusual...)
	} else if text := s.Advice(); text != "" {
		c.words("advice", text)
		c.Unusual = append([]string{text}, c.Unusual...)
	}
	s.askedInVain(c)
	c.limits(limits)
	c.row("trifecta", s.Trifecta().Line(audit.UTF8(s.getenv)))
	s.shown(c)
	for i, k := range s.Keys {
		c.row([]string{"brokered", ""}[min(i, 1)], k)
	}
	s.missing(c)
	if len(s.shares) > 0 {
		c.Unusual = append(c.Unusual, fmt.Sprintf("history shared (%d %s in)", len(s.sharedIn), plural(len(s.sharedIn), "conversation", "conversations")))
	}
	s.variables(c)
	for _, p := range s.Dropped {
		c.row("not in PATH", p)
	}
	for _, n := range s.Notices {
		c.words("note", n)
	}
	s.warned(c)
	return c
}

func (s *Session) getenv(name string) string {
	for _, e := range s.Asked.Environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

func (c *Card) row(key, text string) { c.Rows = append(c.Rows, control.Row{Key: key, Text: text}) }

// words is a row that may take several lines.
func (c *Card) words(key, text string) {
	c.Rows = append(c.Rows, control.Row{Key: key, Text: text, List: true})
}

// said is a row that a start tells of in words of its own, before the card.
func (c *Card) said(key, text string) {
	c.Rows = append(c.Rows, control.Row{Key: key, Text: text, List: true, Said: true})
}

// askedInVain is what a project asks for that nobody trusted.
func (s *Session) askedInVain(c *Card) {
	n := 0
	for _, ch := range s.Ignored {
		if ch.Never != "" {
			c.said("ignored", ch.String()+": "+ch.Never)
			c.Unusual = append(c.Unusual, "ignored a wish of the project's file: "+ch.Never)
			continue
		}
		n++
		c.said("ignored", ch.String())
	}
	if n > 0 {
		c.Unusual = append(c.Unusual, fmt.Sprintf("ignored %d %s of the project's file (ringfence trust)", n, plural(n, "wish", "wishes")))
	}
	for i, f := range s.Trees.Untrusted.Findings {
		c.said([]string{"not trusted", ""}[min(i, 1)], fmt.Sprintf("%s %s: %s", f.ID, plan.Show(f.Path), f.What))
	}
	if n := len(s.Trees.Untrusted.Findings); n > 0 {
		c.Unusual = append(c.Unusual, fmt.Sprintf("%d %s of the project not trusted (ringfence scan)", n, plural(n, "setting", "settings")))
	}
}

// shown is which secrets of the workspace are shown, and how.
func (s *Session) shown(c *Card) {
	var exposed []string
	for _, r := range s.Policy.Files.Expose {
		exposed = append(exposed, r.Value)
	}
	for _, r := range s.Policy.Workspace.Reveal {
		exposed = append(exposed, r.Value)
	}
	c.name("exposed", exposed)
	masked := s.Trees.Masked()
	for i, p := range masked {
		c.row([]string{"masked", ""}[min(i, 1)], p)
	}
	for i, p := range masked {
		masked[i] = strings.TrimPrefix(p, s.Workspaces[0].Path+"/")
	}
	c.name("masked", masked)
	for i, p := range s.Trees.InHistory() {
		c.row([]string{"not masked", ""}[min(i, 1)], plan.Show(p)+": a secret is in git's history, where no mask keeps it")
	}
	if n := len(s.Trees.InHistory()); n > 0 {
		c.Unusual = append(c.Unusual, fmt.Sprintf("%d not masked in git's history", n))
	}
}

// missing is what the project builds on and is not shown, with the flag that shows it.
func (s *Session) missing(c *Card) {
	for i, m := range s.Missing {
		c.row([]string{"not shown", ""}[min(i, 1)], fmt.Sprintf("%s, which %s names: --ro %[1]s shows it", plan.Show(m.Path), m.By))
	}
	switch n := len(s.Missing); {
	case n == 1:
		c.Unusual = append(c.Unusual, fmt.Sprintf("%s names %s (--ro shows it)", s.Missing[0].By, plan.Show(s.Missing[0].Path)))
	case n > 1:
		c.Unusual = append(c.Unusual, fmt.Sprintf("%s names %s (--ro shows it), and %d more (--verbose)", s.Missing[0].By, plan.Show(s.Missing[0].Path), n-1))
	}
}

// name tells of paths or variables among what is unusual, the first few by name.
func (c *Card) name(what string, names []string) {
	const most = 2
	if len(names) == 0 {
		return
	}
	text := what + " " + strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	c.Unusual = append(c.Unusual, text)
}

// variables are the names of what comes inside and what does not.
func (s *Session) variables(c *Card) {
	for _, kind := range []environ.Kind{environ.Passed, environ.Set, environ.Dropped} {
		var names []string
		for _, e := range s.Env.Of(kind) {
			names = append(names, plan.Show(e.Name))
		}
		c.words(string(kind), cmp.Or(strings.Join(names, " "), "nothing"))
	}
	var added []string
	for _, e := range s.Env.Of(environ.Added) {
		c.row("[+]", fmt.Sprintf("%s  (%s)", e.Name, VariableFrom(e)))
		added = append(added, plan.Show(e.Name))
	}
	c.name("added", added)
	for _, e := range s.Env.Of(environ.Refused) {
		c.row("[-]", fmt.Sprintf("%s  (%s)", e.Name, e.Reason))
	}
}

// warned is what the user should know in any case.
func (s *Session) warned(c *Card) {
	for _, w := range s.Warnings {
		c.said("warning", w)
	}
	switch n := len(s.Warnings); {
	case n == 1:
		c.Unusual = append(c.Unusual, "warning: "+s.Warnings[0])
	case n > 1:
		c.Unusual = append(c.Unusual, fmt.Sprintf("%d warnings", n))
	}
}

// limits tells which limits hold, and by what.
func (c *Card) limits(r cgroup.Report) {
	var out []string
	for _, l := range []struct {
		name string
		l    cgroup.Limit
		show func(int64) string
	}{{"processes", r.Pids, func(n int64) string { return fmt.Sprint(n) }}, {"memory", r.Memory, plan.Size}} {
		switch {
		case l.l.Want == 0:
			out = append(out, l.name+" unlimited")
		case l.l.Enforced():
			out = append(out, fmt.Sprintf("%s %s (%s)", l.name, l.show(l.l.Want), l.l.By))
		default:
			out = append(out, fmt.Sprintf("%s %s not enforced", l.name, l.show(l.l.Want)))
		}
	}
	if r.Pids.Want > 0 && !r.Pids.Enforced() { // a share of the machine's memory, which nobody asked for, often is not
		c.Unusual = append(c.Unusual, "limit of processes not enforced")
	}
	c.row("limits", strings.Join(out, ", "))
}

// Network says the posture in a few words.
func (s *Session) Network() string {
	if s.Mode() == launch.ModeNone {
		return "none, own loopback only"
	}
	text := s.Reach.Mode
	var extra []string
	for _, n := range []struct {
		n         int
		one, more string
	}{{len(s.Policy.Network.Allow), "host", "hosts"}, {len(s.Reach.IP), "address", "addresses"},
		{len(s.Reach.Publish), "published", "published"}, {len(s.Reach.HostPorts), "host port", "host ports"}} {
		if n.n > 0 {
			extra = append(extra, fmt.Sprintf("+%d %s", n.n, plural(n.n, n.one, n.more)))
		}
	}
	if len(extra) > 0 {
		text += " (" + strings.Join(extra, ", ") + ")"
	}
	if s.Upstream != nil {
		text += fmt.Sprintf(", by proxy %s, which looks up names", s.Upstream)
	}
	return text
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// VariableFrom is where a variable of the environment comes from.
func VariableFrom(e environ.Entry) string {
	file := e.Source.File
	if strings.HasPrefix(file, "/") {
		file = plan.Show(file)
	}
	if e.Source.Line > 0 {
		return fmt.Sprintf("%s:%d", file, e.Source.Line)
	}
	return file
}
