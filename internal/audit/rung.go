package audit

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/git/repo"
)

// Rung is where on the ladder an agent would start.
type Rung struct {
	Level    string   `json:"level"` // "L0" to "L2", or "" where there is no agent
	Title    string   `json:"title"`
	Agents   []Agent  `json:"agents"`
	Evidence []string `json:"evidence,omitempty"`
	// Around are hints of what this machine itself stands in. They are no rung: what is
	// on this machine is within reach all the same.
	Around []string `json:"around,omitempty"`
}

// rung is that of the least fenced agent.
func (l *look) rung() Rung {
	r := Rung{Agents: []Agent{}}
	for _, a := range l.agents {
		a.Sandbox = l.ownSandbox(a.Name)
		level, why := "L0", "nothing stands around it"
		switch {
		case a.Fenced:
			level, why = "L2", "it is ringfence's shadow"
		case a.Sandbox:
			level, why = "L1", "its own sandbox is on"
		}
		if r.Level == "" || level < r.Level {
			r.Level = level
		}
		r.Agents = append(r.Agents, a)
		r.Evidence = append(r.Evidence, fmt.Sprintf("%s: %s (%s)", a.Name, level, why))
	}
	r.Title = cmp.Or(BoundaryOf(r.Level).Title, "no agent on PATH")
	r.Around = l.around()
	return r
}

// ownSandbox reports whether an agent's own sandbox is on, by its settings. Codex has
// it on unless told otherwise; opencode has none.
func (l *look) ownSandbox(name string) bool {
	switch name {
	case "claude":
		_, n := l.first(claude, "sandbox", "enabled")
		return n.IsTrue()
	case "codex":
		_, mode := l.first(codex, "sandbox_mode")
		_, profile := l.first(codex, "default_permissions")
		return !mode.Is("danger-full-access") && !(mode == nil && profile.Is(":danger-full-access"))
	case "gemini":
		return len(geminiSandbox(l)) == 0
	}
	return false
}

func (l *look) around() (hints []string) {
	if c := l.Facts.Container; c != "" {
		hints = append(hints, "a container ("+c+"): it shares the kernel, and is no virtual machine")
	}
	if l.VM != "" {
		hints = append(hints, "a virtual machine ("+l.VM+"): L3 for what lies outside of it")
	}
	if l.Facts.WSL == 2 {
		hints = append(hints, "WSL 2, a virtual machine that has the drives of Windows")
	}
	for _, name := range []string{"CODESPACES", "GITPOD_WORKSPACE_ID", "DAYTONA_WS_ID"} {
		if l.getenv(name) != "" {
			hints = append(hints, "a managed environment ("+name+" is set): L5 for what lies outside of it")
		}
	}
	if l.getenv("SSH_CONNECTION") != "" {
		hints = append(hints, "a machine reached by SSH: L4 for what lies on the other one")
	}
	return hints
}

// Trigger is a reason to climb for a task.
type Trigger struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	For      string   `json:"for"` // the posture for it
	Evidence []string `json:"evidence"`
}

const maxReasons = 8

// triggers lists the reasons that there is evidence for.
func (l *look) triggers() []Trigger {
	out := []Trigger{}
	for _, t := range []struct {
		id, title, posture string
		find               func(*look) []string
	}{
		{"foreign-repository", "a repository that you did not write", "untrusted-repo", foreignRepository},
		{"unfamiliar-server", "an MCP server that you may not know", "untrusted-repo", unfamiliarServers},
		{"untrusted-input", "mail, issues or pages of strangers as input", "untrusted-text", untrustedInput},
		{"shared-remote", "a push to a remote that others use", "untrusted-repo", sharedRemote},
	} {
		if why := t.find(l); len(why) > 0 {
			for i := range why {
				why[i] = evidence(why[i])
			}
			if len(why) > maxReasons {
				why = append(why[:maxReasons], fmt.Sprintf("and %d more", len(why)-maxReasons))
			}
			out = append(out, Trigger{t.id, t.title, t.posture, why})
		}
	}
	return out
}

// OwnNames are the names under which forges may know the user, by git's settings of
// his and those of forges' own tools.
func OwnNames(w World) []string { return (&look{World: w}).ownNames() }

func (l *look) ownNames() []string {
	var names []string
	add := func(n string) {
		if n = strings.ToLower(strings.TrimSpace(n)); len(n) > 1 && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, e := range l.gitEntries() {
		// A repository's own settings say what its author likes.
		if l.repo != nil && e.path == filepath.Join(l.repo.CommonDir, "config") {
			continue
		}
		switch e.Key {
		case "github.user", "gitlab.user", "user.username":
			add(e.Value)
		case "user.email":
			local, _, _ := strings.Cut(e.Value, "@")
			if _, after, ok := strings.Cut(local, "+"); ok {
				local = after // ID+NAME of a forge's address for commits
			}
			add(local)
		}
	}
	l.lines(l.config("gh/hosts.yml"), maxSettings, func(_ int, line string) bool {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "user:"); ok {
			add(v)
		}
		return true
	})
	return names
}

func (l *look) foreign() []repo.Remote {
	if l.repo == nil {
		return nil
	}
	return Foreign(l.repo.remotes, l.ownNames())
}

// Foreign lists the remotes whose owner is none of the user's names.
func Foreign(remotes []repo.Remote, own []string) (out []repo.Remote) {
	for _, r := range remotes {
		owner, _, _ := strings.Cut(r.Path, "/")
		if !slices.Contains(own, strings.ToLower(owner)) {
			out = append(out, r)
		}
	}
	return out
}

// foreignRepository goes by the owners of its remotes. Where one belongs to the user
// it is taken for his, a fork included, unless it was cloned from elsewhere.
func foreignRepository(l *look) (why []string) {
	if l.repo == nil {
		return nil
	}
	foreign := l.foreign()
	if len(foreign) > 0 && len(foreign) == len(l.repo.remotes) {
		why = append(why, fmt.Sprintf("its remote is %s/%s, and no name of yours is its owner's", foreign[0].Host, foreign[0].Path))
	}
	if from := l.clonedFrom(); from != "" && len(why) > 0 {
		why = append(why, "it was cloned "+from)
		if !l.worked() {
			why = append(why, "no commit of yours was made here")
		}
	}
	if who := l.firstAuthor(); who != "" {
		why = append(why, "the first entry of its log here is by "+who)
	}
	return why
}

// logHead is the first line of the log of HEAD: what made the repository appear here.
func (l *look) logHead() (head, message string) {
	if l.repo == nil || l.repo.GitDir == "" {
		return "", ""
	}
	l.lines(filepath.Join(l.repo.GitDir, "logs/HEAD"), maxSettings, func(_ int, line string) bool {
		head, message, _ = strings.Cut(line, "\t")
		return false
	})
	return head, message
}

func (l *look) clonedFrom() string {
	_, message := l.logHead()
	from, ok := strings.CutPrefix(message, "clone: from ")
	if !ok {
		return ""
	}
	r, ok := repo.ParseRemote(from)
	if !ok {
		return "from another directory"
	}
	return "from " + r.Host + "/" + r.Path
}

// mails are the user's addresses, by his own settings.
func (l *look) mails() (out []string) {
	for _, e := range l.gitEntries() {
		if e.Key == "user.email" {
			out = append(out, strings.ToLower(e.Value))
		}
	}
	return out
}

// maker is the address in an entry of a log.
func maker(entry string) string {
	_, rest, _ := strings.Cut(entry, "<")
	mail, _, _ := strings.Cut(rest, ">")
	return strings.ToLower(mail)
}

// worked reports whether a commit of the user's is in the log of HEAD.
func (l *look) worked() (yes bool) {
	own := l.mails()
	l.lines(filepath.Join(l.repo.GitDir, "logs/HEAD"), maxSettings, func(_ int, line string) bool {
		entry, message, _ := strings.Cut(line, "\t")
		yes = strings.HasPrefix(message, "commit") && slices.Contains(own, maker(entry))
		return !yes
	})
	return yes
}

// firstAuthor names who made the first commit here, if it was not the user: a clone
// is logged in the user's own name and says nothing.
func (l *look) firstAuthor() string {
	head, message := l.logHead()
	mail, own := maker(head), l.mails()
	if !strings.HasPrefix(message, "commit") || mail == "" || len(own) == 0 || slices.Contains(own, mail) {
		return ""
	}
	return mail
}

// unfamiliarServers: those that the project brings, and those of no fixed version.
func unfamiliarServers(l *look) (why []string) {
	for _, s := range l.servers() {
		switch {
		case l.foreignServer(s):
			why = append(why, fmt.Sprintf("%s of the project's %s", s.Name, filepath.Base(s.doc.path)))
		case floating(s.command()) != nil:
			why = append(why, fmt.Sprintf("%s for %s: whatever its registry has today", s.Name, s.agent))
		}
	}
	return why
}

// carriers are words in names and commands of servers that bring in what strangers
// write.
var carriers = []string{"mail", "imap", "outlook", "slack", "discord", "telegram", "teams", "github", "gitlab", "bitbucket", "jira", "linear", "notion", "confluence", "asana",
	"zendesk", "intercom", "sentry", "browser", "playwright", "puppeteer", "selenium", "fetch", "search", "scrape", "firecrawl", "tavily", "exa-mcp", "crawl", "rss", "reddit", "twitter"}

// Carrier is the word by which the name or the command of a server says that it brings
// in what strangers write; "" if there is none.
func Carrier(text string) string {
	text = strings.ToLower(text)
	for _, c := range carriers {
		if strings.Contains(text, c) {
			return c
		}
	}
	return ""
}

func untrustedInput(l *look) (why []string) {
	for _, s := range l.servers() {
		text := s.Name
		for _, w := range s.command() {
			text += " " + w.Text
		}
		if a := s.address(); a != nil {
			text += " " + a.Text
		}
		if c := Carrier(text); c != "" {
			why = append(why, fmt.Sprintf("MCP server %s for %s (%s)", s.Name, s.agent, c))
		}
	}
	for _, d := range claude(l) {
		for _, r := range d.root.Get("permissions", "allow").Strs() {
			tool, _, _ := strings.Cut(r.Text, "(")
			if open, _ := broad(r.Text); tool == "WebFetch" && open != "" || tool == "WebSearch" {
				why = append(why, fmt.Sprintf("Claude Code may use %s without asking", tool))
			}
		}
	}
	slices.Sort(why)
	return slices.Compact(why)
}

// sharedRemote: others push there, or read what is pushed.
func sharedRemote(l *look) (why []string) {
	for _, r := range l.foreign() {
		why = append(why, fmt.Sprintf("%s/%s is not in a name of yours", r.Host, r.Path))
	}
	if len(why) == 0 {
		return nil
	}
	for _, d := range claude(l) {
		for _, r := range d.root.Get("permissions", "allow").Strs() {
			if strings.HasPrefix(r.Text, "Bash(git push") {
				why = append(why, "Claude Code may push without asking")
			}
		}
	}
	return why
}

// exposure is what the meter is told of the agent as it would start.
func (l *look) exposure(r *Report) Exposure {
	e := Exposure{Bare: r.Rung.Level != "L2", Network: "internet", Model: true}
	if !e.Bare {
		e.Network = "dev"
	}
	if l.Project != "" {
		e.Workspaces = []string{l.word(l.Project)}
	}
	if e.Bare {
		for _, f := range l.credentials() {
			e.Secrets = append(e.Secrets, l.word(f.Path))
		}
	}
	for _, t := range r.Triggers {
		switch t.ID {
		case "foreign-repository":
			e.Foreign = t.Evidence[0]
		case "untrusted-input":
			e.Readers = t.Evidence
		case "shared-remote":
			if e.Bare {
				e.Push = t.Evidence
			}
		}
	}
	for _, s := range l.servers() {
		e.Servers = append(e.Servers, evidence(s.Name))
	}
	return e
}
