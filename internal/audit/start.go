package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy/agent"
)

// startChecks: how an agent would be started.
var startChecks = []Check{
	{ID: "AU-001", Severity: High, Title: "The bare agent is the one on PATH",
		Gets: "all that the user can read and reach, as soon as a text misleads the agent",
		Fix:  "ringfence install {}", probe: bareAgents},
	{ID: "AU-002", Severity: High, Title: "The bare agent comes before the fenced one on PATH",
		Gets: "all that the user can read and reach: the fence stands and nobody goes through it",
		Fix:  `export PATH={}:"$PATH"`, probe: lateShadows},
	{ID: "AU-003", Severity: High, Title: "A shell start-up file starts an agent with its questions switched off",
		Gets: "every command that a misled agent thinks of runs at once",
		Fix:  "start it by `ringfence {} -- ...` in that line", probe: boldAliases},
	{ID: "AU-004", Severity: High, Title: "Others can write to a directory on PATH",
		Gets: "the next command of that name is theirs", Fix: "chmod go-w {}", probe: openPath},
	{ID: "AU-005", Severity: Medium, Title: "PATH has an entry that is relative or empty",
		Gets: "a repository with a file called ls or git is run by whoever stands in it",
		Fix:  "take {} out of PATH where it is set", probe: relativePath},
	{ID: "AU-006", Severity: Medium, Title: "A directory of the project is on PATH",
		Gets: "an agent that writes there puts its own git or ssh into the user's shell",
		Fix:  "take {} out of PATH where it is set", probe: projectPath},
	{ID: "AU-007", Severity: Medium, Title: "A shell alias goes past PATH to an agent",
		Gets: "all that the user can read and reach: a shadow on PATH is not asked",
		Fix:  "take the alias out of {}", probe: pathedAliases},
}

// Agent is an agent that this machine has.
type Agent struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"` // the first on PATH
	Fenced  bool   `json:"fenced"`         // and that one is ringfence's
	Sandbox bool   `json:"sandbox"`        // its own sandbox is on
	shadow  string // where the fenced one is, if it comes later
	title   string
}

// findAgents looks along PATH for the agents that are known.
func (l *look) findAgents() []Agent {
	var out []Agent
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		p, err := agent.Load(name, "")
		if err != nil {
			continue
		}
		a := Agent{Name: name, title: p.Title}
		for _, n := range p.Search.Names {
			l.alongPath(n, &a)
		}
		if a.Path != "" {
			out = append(out, a)
		}
	}
	return out
}

func (l *look) alongPath(name string, a *Agent) {
	for _, dir := range filepath.SplitList(l.getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		st, ok := l.stat(path)
		if !ok || !isRegular(st) || st.Mode&0o111 == 0 {
			continue
		}
		fenced := l.fenced(path, st)
		switch {
		case a.Path == "":
			a.Path, a.Fenced = path, fenced
		case fenced && !a.Fenced && a.shadow == "":
			a.shadow = path
		}
	}
}

// fenced reports whether a program on PATH is ringfence under an agent's name: the
// launcher that install writes, or a link to ringfence itself.
func (l *look) fenced(path string, st unix.Stat_t) bool {
	if self, ok := l.stat(l.Binary); ok && self.Dev == st.Dev && self.Ino == st.Ino {
		return true
	}
	head, err := l.read(path, 64)
	return (err == nil || errors.Is(err, errLarge)) && agent.IsShadow(head)
}

// agent returns one that is on PATH, or nil.
func (l *look) agent(name string) *Agent {
	for i := range l.agents {
		if l.agents[i].Name == name {
			return &l.agents[i]
		}
	}
	return nil
}

func bareAgents(l *look) (hits []hit) {
	for _, a := range l.agents {
		if !a.Fenced && a.shadow == "" {
			hits = append(hits, hit{path: a.Path, detail: a.title, about: a.Name})
		}
	}
	return hits
}

func lateShadows(l *look) (hits []hit) {
	for _, a := range l.agents {
		if !a.Fenced && a.shadow != "" {
			hits = append(hits, hit{path: a.Path, detail: "the fenced one is " + l.word(a.shadow), about: l.word(filepath.Dir(a.shadow))})
		}
	}
	return hits
}

// rcFiles are read when a shell starts.
func (w *World) rcFiles() []string {
	var out []string
	for _, name := range []string{".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin"} {
		out = append(out, w.home(name))
	}
	return append(out, w.config("fish/config.fish"))
}

var bold = lazy(`\b(claude|codex|gemini|opencode)\b.*?(--dangerously-skip-permissions|--allow-dangerously-skip-permissions|--dangerously-bypass-approvals-and-sandbox|--yolo\b|--full-auto\b|--approval-mode[= ]yolo|--permission-mode[= ]bypassPermissions|--sandbox[= ]danger-full-access|--auto(?:[\s"']|$))`)

func boldAliases(l *look) (hits []hit) {
	for _, file := range l.rcFiles() {
		l.lines(file, maxSettings, func(n int, line string) bool {
			line = strings.TrimSpace(line)
			if m := bold().FindStringSubmatch(line); m != nil && line[0] != '#' && !strings.Contains(line[:strings.Index(line, m[0])+len(m[1])], "ringfence") {
				hits = append(hits, hit{path: file, line: n, detail: m[1] + " " + m[2], about: m[1]})
			}
			return true
		})
	}
	return hits
}

var aliased = lazy(`^alias\s+(claude|codex|gemini|opencode)(?:=|\s)\s*["']?(?:\S*/)(\S*)`)

// pathedAliases: installers of agents leave such lines.
func pathedAliases(l *look) (hits []hit) {
	for _, file := range l.rcFiles() {
		l.lines(file, maxSettings, func(n int, line string) bool {
			if m := aliased().FindStringSubmatch(strings.TrimSpace(line)); m != nil && !strings.Contains(line, "ringfence") {
				hits = append(hits, hit{path: file, line: n, detail: "alias " + m[1]})
			}
			return true
		})
	}
	return hits
}

func openPath(l *look) (hits []hit) {
	for _, dir := range filepath.SplitList(l.getenv("PATH")) {
		st, ok := l.stat(dir)
		if ok && filepath.IsAbs(dir) && isDir(st) && l.everybody().writable(st) {
			hits = append(hits, hit{path: dir, detail: modeWords(st)})
		}
	}
	return hits
}

func modeWords(st unix.Stat_t) string { return fmt.Sprintf("mode %04o", st.Mode&0o7777) }

func relativePath(l *look) (hits []hit) {
	value := l.getenv("PATH")
	if value == "" {
		return nil
	}
	for _, dir := range filepath.SplitList(value) {
		if !filepath.IsAbs(dir) {
			return []hit{{path: "$PATH", detail: fmt.Sprintf("entry %q", dir), about: fmt.Sprintf("%q", dir)}}
		}
	}
	return nil
}

func projectPath(l *look) (hits []hit) {
	if l.Project == "" || file.Within(l.Home, l.Project) {
		return nil
	}
	for _, dir := range filepath.SplitList(l.getenv("PATH")) {
		if filepath.IsAbs(dir) && file.Within(filepath.Clean(dir), l.Project) {
			hits = append(hits, hit{path: filepath.Clean(dir)})
		}
	}
	return hits
}
