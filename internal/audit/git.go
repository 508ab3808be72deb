package audit

import (
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/git/repo"
)

// gitChecks: git's settings. Included files are not followed.
var gitChecks = []Check{
	{ID: "AU-130", Severity: High, Title: "git is told to keep passwords as text",
		Gets: "the next password that is typed for a forge", Fix: "git config --global credential.helper cache", probe: gitSays(storeHelper)},
	{ID: "AU-131", Severity: High, Title: "The address of a remote holds a token",
		Gets: "the repository, and whatever else the token opens", Fix: "git remote set-url {} (without the token)", probe: tokenRemotes},
	{ID: "AU-132", Severity: Medium, Title: "git runs hooks from an unusual place",
		Gets: "code at the next commit or checkout, if somebody else can write there",
		Fix:  "git config --unset core.hooksPath, in {}", probe: gitSays(func(l *look, e gitEntry) bool { return e.key == "core.hookspath" && l.oddHooks(e) })},
	{ID: "AU-133", Severity: Medium, Title: "git trusts repositories of everybody",
		Gets: "settings of a repository that another user laid down run code as the user",
		Fix:  `git config --global --unset-all safe.directory '\*'`, probe: gitSays(func(_ *look, e gitEntry) bool { return e.key == "safe.directory" && e.value == "*" })},
	{ID: "AU-134", Severity: High, Title: "git takes any certificate",
		Gets: "whoever is on the way hands out other code, and takes the password",
		Fix:  "git config --global --unset http.sslVerify, in {}", probe: gitSays(func(_ *look, e gitEntry) bool {
			return strings.HasPrefix(e.key, "http.") && strings.HasSuffix(e.key, "sslverify") && isNo(e.value)
		})},
	{ID: "AU-135", Severity: Low, Title: "git pushes every branch of the same name",
		Gets: "branches that nobody meant to push", Fix: "git config --global push.default simple", probe: gitSays(func(_ *look, e gitEntry) bool { return e.key == "push.default" && e.value == "matching" })},
	{ID: "AU-136", Severity: Medium, Title: "git may run a program as a remote",
		Gets: "code, from an address in a submodule or a clone command", Fix: "git config --global --unset protocol.ext.allow, in {}",
		probe: gitSays(func(_ *look, e gitEntry) bool {
			return (e.key == "protocol.ext.allow" || e.key == "protocol.allow") && e.value == "always"
		})},
}

// repository is the project's, as far as the audit needs it.
type repository struct {
	*repo.Repo
	remotes []repo.Remote
}

func (l *look) findRepository() *repository {
	if l.Project == "" {
		return nil
	}
	r, err := repo.Find(l.Project, l.Home)
	if err != nil || r == nil {
		if err != nil {
			l.notes = append(l.notes, "the project's repository is not in the form that git writes: it was not looked at")
		}
		return nil
	}
	remotes, err := r.Remotes()
	if err != nil {
		l.notes = append(l.notes, "the remotes of the repository cannot be read")
	}
	return &repository{r, remotes}
}

type gitEntry struct {
	path  string
	line  int
	key   string // section and name in lower case
	value string
}

var (
	gitSection = lazy(`^\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]`)
	gitKey     = lazy(`^([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$`)
)

// gitEntries reads the user's settings and those of the repository.
func (l *look) gitEntries() (out []gitEntry) {
	files := []string{l.home(".gitconfig"), l.config("git/config"), l.at("/etc/gitconfig")}
	if l.repo != nil && l.repo.CommonDir != "" {
		files = append(files, filepath.Join(l.repo.CommonDir, "config"))
	}
	for _, file := range files {
		section := ""
		l.lines(file, maxSettings, func(n int, line string) bool {
			line = strings.TrimSpace(line)
			if m := gitSection().FindStringSubmatch(line); m != nil {
				section = strings.ToLower(m[1])
				if m[2] != "" {
					section += "." + m[2]
				}
				line = strings.TrimSpace(line[len(m[0]):])
			}
			if m := gitKey().FindStringSubmatch(line); m != nil && section != "" {
				out = append(out, gitEntry{file, n, section + "." + strings.ToLower(m[1]), gitValue(m[2])})
			}
			return len(out) < 1<<16
		})
	}
	return out
}

// gitValue takes quotes and a comment off.
func gitValue(v string) string {
	if i := strings.IndexAny(v, "#;"); i >= 0 && !strings.Contains(v, `"`) {
		v = v[:i]
	}
	return strings.Trim(strings.TrimSpace(v), `"`)
}

func isNo(v string) bool {
	switch strings.ToLower(v) {
	case "false", "no", "off", "0":
		return true
	}
	return false
}

// gitSays makes a probe of a test of settings. What stands between section and name is
// not told: it may be an address with a password.
func gitSays(test func(*look, gitEntry) bool) func(*look) []hit {
	return func(l *look) (hits []hit) {
		for _, e := range l.gitEntries() {
			if test(l, e) {
				section, rest, _ := strings.Cut(e.key, ".")
				hits = append(hits, hit{path: e.path, line: e.line, detail: section + "." + rest[strings.LastIndexByte(rest, '.')+1:]})
			}
		}
		return hits
	}
}

func storeHelper(_ *look, e gitEntry) bool {
	if !strings.HasPrefix(e.key, "credential.") || !strings.HasSuffix(e.key, "helper") {
		return false
	}
	words := strings.Fields(e.value)
	return len(words) > 0 && (words[0] == "store" || strings.HasSuffix(words[0], "git-credential-store"))
}

// oddHooks: a place that others can write to. What a repository's own settings run is
// judged with all else that it runs on opening.
func (l *look) oddHooks(e gitEntry) bool {
	st, ok := l.stat(l.expand(e.value))
	return ok && l.writable(st)
}

var tokenURL = lazy(`://(?:[^/\s:@]*:[^/\s@]+|[^/\s:@]{16,})@`)

func tokenRemotes(l *look) (hits []hit) {
	for _, e := range l.gitEntries() {
		name, ok := strings.CutPrefix(e.key, "remote.")
		if !ok {
			name, ok = strings.CutPrefix(e.key, "url.")
		}
		if ok && (tokenURL().MatchString(e.value) || tokenURL().MatchString(e.key)) {
			name, _, _ = strings.Cut(name, ".")
			if strings.Contains(name, "@") {
				name = "NAME" // the name is an address with the token in it
			}
			hits = append(hits, hit{path: e.path, line: e.line, about: name})
		}
	}
	return hits
}
