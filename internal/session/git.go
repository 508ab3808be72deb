package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

const (
	gitConfigPath = plan.Own + "/gitconfig"
	gitIgnorePath = plan.Own + "/gitignore"
)

// gitPart is git inside.
type gitPart struct {
	Base
	Contribution
}

// prepareGit shows what a repository needs outside the workspace and curates the
// global config: the user's identity, no helpers, no includes.
func prepareGit(b Base) (Contribution, error) {
	gp := &gitPart{Base: b}
	err := gp.prepare()
	return gp.Contribution, err
}

func (gp *gitPart) prepare() error {
	safe, gitDir := gp.paths(), ""
	if gp.Repo != nil {
		gitDir = gp.Repo.GitDir
		for _, x := range gp.Repo.Extra {
			if err := gp.refuseCredentials(x, "git directory"); err != nil {
				return err
			}
			gp.addTree(plan.Mount{Src: x, Dst: x, Why: "git directory of this " + string(gp.Repo.Kind)}, ".git")
			safe = append(safe, x)
		}
		gp.hideMonitor()
		for _, a := range gp.Repo.Alternates {
			gp.notice(fmt.Sprintf("this repository borrows objects from %s: add --ro %[1]s if git misses them", plan.Show(a)))
		}
	}
	own := repo.ReadHost([]string{filepath.Join(gp.configHome(), "git/config"), filepath.Join(gp.User.Home, ".gitconfig")}, gitDir, gp.User.Home, gp.agentWrites)
	gp.warnings = append(gp.warnings, own.Broken...)
	gp.notices = append(gp.notices, own.LeftOut...)
	// All directories: what belongs to another id looks like nobody's inside,
	// and git would refuse to touch what it was started for.
	signing, err := gp.signing(own)
	if err != nil {
		return err
	}
	gp.git = &repo.Curated{Settings: own.Settings, Safe: append(safe, "*"), Sign: signing}
	gp.set("git", "GIT_CONFIG_GLOBAL", gitConfigPath)
	return nil
}

// ignoreMasked makes git inside pass over the files that show phantoms: else `git add -A`
// would commit one, and `git stash -u` put it away and not find its place free again. What
// git tracks already, or is told to add by force, it adds. A repository with a
// core.excludesFile of its own reads only that.
func ignoreMasked(c *Contribution, masked map[string]phantom.Kind) {
	var lines []string
	for p := range masked {
		if line, ok := ignoreLine(p); ok {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return
	}
	slices.Sort(lines)
	c.put(gitIgnorePath, []byte(strings.Join(lines, "")), "files that show phantoms, which git passes over")
	c.gitConfig += "[core]\n\texcludesFile = \"" + gitIgnorePath + "\"\n"
}

var ignoreEscapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `)

// ignoreLine names a file as git reads it: from the top of its repository.
func ignoreLine(p string) (string, bool) {
	for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			rel := strings.TrimPrefix(p[len(dir):], "/")
			return "/" + ignoreEscapes.Replace(rel) + "\n", !strings.ContainsAny(rel, "\n\r")
		}
		if dir == "/" {
			return "", false
		}
	}
}
