package audit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// looseChecks: secrets where they do not belong.
var looseChecks = []Check{
	{ID: "AU-110", Severity: High, Title: "A shell start-up file sets a secret",
		Gets: "the secret: every program that a shell starts has it, the agent too",
		Fix:  "take the line out of {}, and: ringfence secret set NAME", probe: rcSecrets},
	{ID: "AU-111", Severity: Medium, Title: "The history of a shell holds a secret",
		Gets: "the secret, by reading one file", Fix: "take the line out of {}, and replace the secret", probe: historySecrets},
	{ID: "AU-112", Severity: Medium, Title: "The environment holds a secret",
		Gets: "the secret, by `env`: the bare agent and all it starts inherit it",
		Fix:  "unset {}, and: ringfence secret set NAME", probe: environSecrets},
	{ID: "AU-113", Severity: Medium, Title: "A file of the project holds secrets",
		Gets: "the secrets: the bare agent reads all of the project", Fix: "ringfence claude (which masks {})", probe: projectSecrets},
	{ID: "AU-114", Severity: Low, Title: "Others can look into the home directory",
		Gets: "every file whose own mode forgot to say no", Fix: "chmod 750 {}", probe: openHome},
	{ID: "AU-115", Severity: Medium, Title: "New files can be written by everybody",
		Gets: "whatever the user makes from now on", Fix: "umask 022", probe: openMask},
}

func rcSecrets(l *look) (hits []hit) {
	for _, file := range append(l.rcFiles(), l.home(".pam_environment"), l.config("environment.d/secrets.conf")) {
		l.lines(file, maxSettings, func(n int, line string) bool {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				return true
			}
			if what := secretIn(line); what != "" {
				hits = append(hits, hit{path: file, line: n, detail: what})
			}
			return true
		})
	}
	return hits
}

// maxHistory bounds how much of a history is read. The newest lines are at its end,
// but what is secret does not age.
const maxHistory = 8 << 20

// historySecrets tells the first line of each history, and how many more there are.
func historySecrets(l *look) (hits []hit) {
	names := []string{".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history", ".local/share/fish/fish_history"}
	for _, name := range names {
		file, first, count, what := l.home(name), 0, 0, ""
		l.lines(file, maxHistory, func(n int, line string) bool {
			if s := secretIn(line); s != "" {
				if count++; first == 0 {
					first, what = n, s
				}
			}
			return true
		})
		if count > 0 {
			hits = append(hits, hit{path: file, line: first, detail: fmt.Sprintf("%s; lines with secrets: %d", what, count)})
		}
	}
	return hits
}

// environSecrets goes by the name, and does not show the value. Where a variable says
// which socket leads to an agent of keys is another row's business.
func environSecrets(l *look) (hits []hit) {
	for _, e := range l.Environ {
		name, value, _ := strings.Cut(e, "=")
		entry, known := knownsecrets.Env(name)
		if known && entry.Class == knownsecrets.Secret && held(value) && !knownsecrets.NoLogin(name, value) {
			hits = append(hits, hit{path: "$" + name, detail: entry.What, about: name})
		}
	}
	return hits
}

// projectBudget bounds the walk through a project.
var projectBudget = phantom.Budget{Dirs: 20_000, Entries: 400_000, Time: 2 * time.Second}

// projectSecrets asks the same names and the same content as the masks of a launch.
func projectSecrets(l *look) (hits []hit) {
	if l.Project == "" || file.Within(l.Home, l.Project) {
		return nil
	}
	whole := l.secretsIn(l.Project, func(path string, inHistory bool) bool {
		h := hit{path: path}
		if inHistory {
			h.detail = "a secret is in git's history: replace it, no mask can keep it"
		}
		hits = append(hits, h)
		return len(hits) <= maxHits
	})
	if !whole {
		l.notes = append(l.notes, "the project is large: not every directory was searched for secrets")
	}
	slices.SortFunc(hits, func(a, b hit) int { return strings.Compare(a.path, b.path) })
	return hits
}

// Scan looks at a tree for a person, and at the git directories of a linked worktree.
// An agent would start in dir, a path in it.
func Scan(root, dir, home string, step func(entries int)) (*scan.Report, error) {
	budget := scan.Hand(dir)
	if own, err := repo.Find(root, home); err == nil && own != nil && own.Root() == root {
		budget.Git = own.OutsideDirs()
	}
	budget.Step = step
	return scan.Scan(root, budget)
}

// InHistory lists the files of secrets below root that git has in the commit that is
// checked out as they are. whole says that all of it was looked through.
func InHistory(root, home string) (paths []string, whole bool) {
	l := &look{World: World{Home: home, Project: root}}
	whole = l.secretsIn(root, func(path string, inHistory bool) bool {
		if inHistory {
			paths = append(paths, path)
		}
		return len(paths) <= maxHits
	})
	slices.Sort(paths)
	return paths, whole && len(paths) <= maxHits
}

// secretsIn visits the files of secrets below root as long as visit says so.
func (w *World) secretsIn(root string, visit func(path string, inHistory bool) bool) (whole bool) {
	found, whole, err := phantom.Find(root, phantom.Builtin(), projectBudget)
	own, _ := repo.Find(root, w.Home) // without one, nothing is in its history
	past := repo.History{Repo: own, Shown: []string{root}}
	defer past.Close()
	seed := make([]byte, 32) // what is made of it is not shown to anybody
	for _, f := range found {
		path := filepath.Join(root, f.Rel)
		if f.Link || f.Size == 0 {
			continue
		}
		data, err := w.read(path, maxSettings)
		if err != nil {
			continue
		}
		if _, kind, err := phantom.Phantom(f.Rel, data, seed); err == nil && kind != phantom.None && !visit(path, past.Has(root, path, data)) {
			break
		}
	}
	return whole && err == nil
}

func openHome(l *look) []hit {
	if st, ok := l.stat(l.Home); ok && st.Mode&0o007 != 0 {
		return []hit{{path: l.Home, detail: modeWords(st)}}
	}
	return nil
}

func openMask(l *look) []hit {
	if l.Umask >= 0 && l.Umask&0o002 == 0 {
		return []hit{{path: "umask", detail: fmt.Sprintf("%04o", l.Umask)}}
	}
	return nil
}
