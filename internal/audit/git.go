package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
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
		Fix:  "git config --unset core.hooksPath, in {}", probe: gitSays(func(l *look, e gitEntry) bool { return e.Key == "core.hookspath" && l.oddHooks(e) })},
	{ID: "AU-133", Severity: Medium, Title: "git trusts repositories of everybody",
		Gets: "settings of a repository that another user laid down run code as the user",
		Fix:  `git config --file {} --unset-all safe.directory '\*'`, probe: gitSays(func(_ *look, e gitEntry) bool { return e.Key == "safe.directory" && e.Value == "*" })},
	{ID: "AU-134", Severity: High, Title: "git takes any certificate",
		Gets: "whoever is on the way hands out other code, and takes the password",
		Fix:  "git config --file {} --unset http.sslVerify", probe: gitSays(func(_ *look, e gitEntry) bool {
			return strings.HasPrefix(e.Key, "http.") && strings.HasSuffix(e.Key, "sslverify") && e.IsFalse()
		})},
	{ID: "AU-135", Severity: Low, Title: "git pushes every branch of the same name",
		Gets: "branches that nobody meant to push", Fix: "git config --global push.default simple", probe: gitSays(func(_ *look, e gitEntry) bool { return e.Key == "push.default" && e.Value == "matching" })},
	{ID: "AU-136", Severity: Medium, Title: "git may run a program as a remote",
		Gets: "code, from an address in a submodule or a clone command", Fix: "git config --file {} --unset protocol.ext.allow",
		probe: gitSays(func(_ *look, e gitEntry) bool {
			return (e.Key == "protocol.ext.allow" || e.Key == "protocol.allow") && e.Value == "always"
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

// gitEntry is a setting of git and its file.
type gitEntry struct {
	path string
	settings.GitEntry
}

// gitEntries reads the user's settings and those of the repository. git itself stops at
// a file that it cannot read; what stands before the mistake is judged all the same.
func (l *look) gitEntries() (out []gitEntry) {
	files := []string{l.home(".gitconfig"), l.config("git/config"), l.at("/etc/gitconfig")}
	if l.repo != nil && l.repo.CommonDir != "" {
		files = append(files, filepath.Join(l.repo.CommonDir, "config"))
	}
	for _, file := range files {
		data, err := l.read(file, settings.MaxGitBytes)
		if err != nil && !errors.Is(err, errLarge) {
			continue
		}
		entries, bad := settings.ParseGitPart(data)
		if note := fmt.Sprintf("%s is not as git reads it: what follows the mistake was not looked at", l.word(file)); (bad != nil || err != nil) && !slices.Contains(l.notes, note) {
			l.notes = append(l.notes, note)
		}
		for _, e := range entries {
			out = append(out, gitEntry{file, e})
		}
	}
	return out
}

// gitSays makes a probe of a test of settings. What stands between section and name is
// not told: it may be an address with a password.
func gitSays(test func(*look, gitEntry) bool) func(*look) []hit {
	return func(l *look) (hits []hit) {
		for _, e := range l.gitEntries() {
			if test(l, e) {
				section, rest, _ := strings.Cut(e.Key, ".")
				hits = append(hits, hit{path: e.path, line: e.Line, detail: section + "." + rest[strings.LastIndexByte(rest, '.')+1:]})
			}
		}
		return hits
	}
}

func storeHelper(_ *look, e gitEntry) bool {
	if !strings.HasPrefix(e.Key, "credential.") || !strings.HasSuffix(e.Key, "helper") {
		return false
	}
	words := strings.Fields(e.Value)
	return len(words) > 0 && (words[0] == "store" || strings.HasSuffix(words[0], "git-credential-store"))
}

// oddHooks: a place that others can write to. What a repository's own settings run is
// judged with all else that it runs on opening.
func (l *look) oddHooks(e gitEntry) bool {
	st, ok := l.stat(l.expand(e.Value))
	return ok && l.everybody().writable(st)
}

var tokenURL = lazy(`://(?:[^/\s:@]*:[^/\s@]+|[^/\s:@]{16,})@`)

func tokenRemotes(l *look) (hits []hit) {
	for _, e := range l.gitEntries() {
		name, ok := strings.CutPrefix(e.Key, "remote.")
		if !ok {
			name, ok = strings.CutPrefix(e.Key, "url.")
		}
		if ok && (tokenURL().MatchString(e.Value) || tokenURL().MatchString(e.Key)) {
			name, _, _ = strings.Cut(name, ".")
			if strings.Contains(name, "@") {
				name = "NAME" // the name is an address with the token in it
			}
			hits = append(hits, hit{path: e.path, line: e.Line, about: name})
		}
	}
	return hits
}
