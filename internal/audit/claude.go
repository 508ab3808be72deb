package audit

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// claudeChecks: Claude Code's own sandbox and permissions.
var claudeChecks = []Check{
	{ID: "AU-010", Severity: Medium, Title: "Claude Code's own sandbox is off",
		Gets: "commands of a misled agent run with all of the user's rights wherever ringfence is not used",
		Fix:  `{"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}} in {}`, probe: sandboxOff},
	{ID: "AU-011", Severity: High, Title: "Claude Code may run a command again outside of its sandbox",
		Gets: "a command that its sandbox stopped is simply run without it; that is the default",
		Fix:  `"allowUnsandboxedCommands": false under "sandbox" in {}`, probe: hatchOpen},
	{ID: "AU-012", Severity: Medium, Title: "A command is excluded from Claude Code's sandbox",
		Gets: "whatever that command can be made to do is done outside of the sandbox",
		Fix:  `take it out of "excludedCommands" in {}`, probe: says(claude, anyText, "sandbox", "excludedCommands", "*")},
	{ID: "AU-013", Severity: Medium, Title: "Nothing keeps Claude Code from reading credentials",
		Gets: "the keys that are here: reading is allowed by default, in its sandbox too",
		Fix:  `add Read(PATH/**) for each to permissions.deny in {}`, probe: denyReadGaps},
	{ID: "AU-014", Severity: Critical, Title: "Claude Code starts with its questions switched off",
		Gets: "every tool call of a misled agent is done at once",
		Fix:  `"defaultMode": "default" under "permissions" in {}`, probe: says(claude, word("bypassPermissions", "dontAsk"), "permissions", "defaultMode")},
	{ID: "AU-015", Severity: High, Title: "A permission rule of Claude Code allows too much",
		Gets: "what it allows is done without a question", Fix: "take the rule out of permissions.allow in {}", probe: broadRules},
	{ID: "AU-016", Severity: Medium, Title: "Claude Code's file tools may read credentials",
		Gets: "Read and Grep do not go through the sandbox: only a deny rule stops them",
		Fix:  `add Read(PATH/**) for each to permissions.deny in {}`, probe: denyRuleGaps},
	{ID: "AU-017", Severity: Low, Title: "Nothing looks at Claude Code's commands before they run",
		Gets: "rm -rf of a home directory, a forced push, curl | sh: no rule and no hook says no",
		Fix:  "a PreToolUse hook in {} that runs: ringfence hook claude", probe: noBelt},
	{ID: "AU-018", Severity: Medium, Title: "The warning about switched-off questions was accepted for good",
		Gets: "the dangerous mode starts without a word",
		Fix:  "take the key out of {}", probe: either(says(claudeState, on, "bypassPermissionsModeAccepted"), says(claude, on, "skipDangerousModePermissionPrompt"))},
	{ID: "AU-019", Severity: Medium, Title: "Claude Code's sandbox is weakened",
		Gets: "sockets of other programs, any host, or a way around the sandbox",
		Fix:  "take the key out of {}", probe: either(
			says(claude, on, "sandbox", "network", "allowAllUnixSockets"), says(claude, on, "sandbox", "enableWeakerNestedSandbox"),
			says(claude, word("*", "*.*"), "sandbox", "network", "allowedDomains", "*"))},
	{ID: "AU-020", Severity: High, Title: "Claude Code may work in a directory that holds everything",
		Gets: "the whole home directory counts as the project", Fix: `take it out of "additionalDirectories" in {}`,
		probe: says(claude, wide, "permissions", "additionalDirectories", "*")},
	{ID: "AU-021", Severity: Medium, Title: "Claude Code trusts the home directory or the root",
		Gets: "settings, hooks and servers of whatever lies there count without a question",
		Fix:  `set "hasTrustDialogAccepted" to false for it in {}`, probe: wideTrust},
	{ID: "AU-022", Severity: High, Title: "Settings of Claude Code hold a secret in plain text",
		Gets: "the secret, by reading one file", Fix: "take it out of {}, and: ringfence secret set NAME",
		probe: secretSettings},
	{ID: "AU-023", Severity: Medium, Title: "Settings lead Claude Code's traffic elsewhere",
		Gets: "the prompts, the code in them and the key that pays for them",
		Fix:  "take the variable out of {}", probe: redirected},
	{ID: "AU-024", Severity: Info, Title: "Claude Code runs commands in its sandbox without asking",
		Gets: "nothing by itself: its sandbox is then all that stands", Fix: `"autoAllowBashIfSandboxed": false in {}`,
		probe: says(claude, on, "sandbox", "autoAllowBashIfSandboxed")},
}

// claude lists Claude Code's settings, the one that decides first.
func claude(l *look) []*document {
	var paths []string
	dropIns := l.names(l.at("/etc/claude-code/managed-settings.d"))
	slices.Sort(dropIns)
	slices.Reverse(dropIns)
	for _, name := range dropIns {
		if strings.HasSuffix(name, ".json") {
			paths = append(paths, l.at("/etc/claude-code/managed-settings.d/"+name))
		}
	}
	paths = append(paths, l.at("/etc/claude-code/managed-settings.json"))
	paths = append(paths, l.projectPaths(".claude/settings.local.json", ".claude/settings.json")...)
	paths = append(paths, l.home(".claude/settings.local.json"), l.home(".claude/settings.json"))
	return l.all(paths...)
}

// projectPaths are files of the project, if there is one that is not the home itself.
func (w *World) projectPaths(rels ...string) (out []string) {
	for _, rel := range rels {
		if w.Project != "" && w.Project != w.Home {
			out = append(out, filepath.Join(w.Project, rel))
		}
	}
	return out
}

func claudeState(l *look) []*document { return l.all(l.home(".claude.json")) }

// usesClaude: it is on PATH, or has settings here.
func (l *look) usesClaude() bool {
	return l.agent("claude") != nil || len(claude(l)) > 0 || len(claudeState(l)) > 0
}

// userSettings is where advice about Claude Code belongs if nothing else is wrong.
func (w *World) userSettings() string { return w.home(".claude/settings.json") }

func sandboxOff(l *look) []hit {
	if !l.usesClaude() {
		return nil
	}
	h := hit{path: l.userSettings(), detail: "sandbox.enabled is not set"}
	if d, n := l.first(claude, "sandbox", "enabled"); n.IsTrue() {
		return nil
	} else if n != nil {
		h = hit{path: d.path, line: n.Line, detail: "sandbox.enabled = " + n.Text}
	}
	return []hit{l.behind("claude", h, Info)}
}

// behind lowers what matters little where an agent is fenced: inside, ringfence is the
// sandbox, and what is here is not there.
func (l *look) behind(name string, h hit, to Severity) hit {
	if a := l.agent(name); a != nil && a.Fenced {
		h.severity = to
	}
	return h
}

// hatchOpen is asked where the sandbox is on, or somebody wrote the key.
func hatchOpen(l *look) []hit {
	if d, n := l.first(claude, "sandbox", "allowUnsandboxedCommands"); n != nil {
		if n.IsFalse() {
			return nil
		}
		return []hit{{path: d.path, line: n.Line, detail: "allowUnsandboxedCommands = " + n.Text}}
	}
	if d, n := l.first(claude, "sandbox", "enabled"); n.IsTrue() {
		return []hit{{path: d.path, line: n.Line, detail: "allowUnsandboxedCommands is not set, which means true"}}
	}
	return nil
}

func anyText(_ *look, n *node) bool { return n.Str() != "" }

// wide takes a directory that holds the whole home, or more.
func wide(l *look, n *node) bool {
	dir := l.expand(n.Str())
	return dir != "" && filepath.IsAbs(dir) && file.Within(l.Home, dir)
}

// expand reads a path as agents write it.
func (w *World) expand(p string) string {
	for _, h := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(p, h); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(w.Home, rest)
		}
	}
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// gaps lists the credentials that are here and that no rule covers.
func (l *look) gaps(rules []string) (out []string) {
	for _, rel := range knownsecrets.Keepers() {
		at := l.home(rel)
		if _, there := l.stat(at); !there {
			continue
		}
		if !slices.ContainsFunc(rules, func(r string) bool { return l.covers(r, at) }) {
			out = append(out, "~/"+rel)
		}
	}
	return out
}

// covers reports whether a rule about paths is about one, or about what it lies in.
func (w *World) covers(rule, at string) bool {
	rule = strings.TrimSuffix(strings.TrimSuffix(rule, "/**"), "/*")
	if strings.HasPrefix(rule, "//") {
		rule = rule[1:]
	}
	rule = w.expand(rule)
	if rule == "" || !filepath.IsAbs(rule) {
		return false
	}
	ok, err := path.Match(rule, at)
	return err == nil && ok || file.Within(at, rule)
}

// rules collects the strings of a list in all settings, with the place of the first.
func (l *look) rules(path ...string) (texts []string, at hit) {
	at = hit{path: l.userSettings()}
	for _, d := range claude(l) {
		n := d.root.Get(path...)
		if n != nil && at.line == 0 {
			at.path, at.line = d.path, n.Line
		}
		for _, s := range n.Strs() {
			texts = append(texts, s.Text)
		}
	}
	return texts, at
}

// reads are the paths of rules of the form Read(PATH).
func reads(rules []string) (out []string) {
	for _, r := range rules {
		if p, ok := strings.CutPrefix(r, "Read("); ok {
			out = append(out, strings.TrimSuffix(p, ")"))
		}
	}
	return out
}

// denyReadGaps: rules that deny Read count for the sandbox as well.
func denyReadGaps(l *look) []hit {
	paths, at := l.rules("sandbox", "filesystem", "denyRead")
	denied, _ := l.rules("permissions", "deny")
	return l.gapHit(at, l.gaps(append(paths, reads(denied)...)))
}

// denyRuleGaps are those that the sandbox does not have, and no rule denies.
func denyRuleGaps(l *look) []hit {
	paths, _ := l.rules("sandbox", "filesystem", "denyRead")
	denied, at := l.rules("permissions", "deny")
	open := l.gaps(append(paths, reads(denied)...))
	return l.gapHit(at, slices.DeleteFunc(l.gaps(reads(denied)), func(p string) bool { return slices.Contains(open, p) }))
}

func (l *look) gapHit(at hit, gaps []string) []hit {
	if len(gaps) == 0 || !l.usesClaude() {
		return nil
	}
	at.detail = "not covered: " + few(gaps)
	return []hit{l.behind("claude", at, Low)}
}

// noBelt: no rule about commands and no hook before tools.
func noBelt(l *look) []hit {
	denied, at := l.rules("permissions", "deny")
	belt := slices.ContainsFunc(denied, func(r string) bool { return strings.HasPrefix(r, "Bash") })
	for _, d := range claude(l) {
		belt = belt || len(d.root.All("hooks", "PreToolUse", "*")) > 0
	}
	if belt || !l.usesClaude() {
		return nil
	}
	return []hit{l.behind("claude", at, Info)}
}

func wideTrust(l *look) (hits []hit) {
	for _, d := range claudeState(l) {
		for _, p := range d.root.All("projects", "*") {
			if t := p.Get("hasTrustDialogAccepted"); t.IsTrue() && filepath.IsAbs(p.Name) && file.Within(l.Home, p.Name) {
				hits = append(hits, hit{path: d.path, line: t.Line, detail: "for " + l.word(p.Name)})
			}
		}
	}
	return hits
}
