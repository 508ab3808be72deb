package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/review"
)

const (
	gitConfigPath = plan.Own + "/gitconfig"
	gitIgnorePath = plan.Own + "/gitignore"
)

// git shows what a repository needs outside the workspace and writes the curated
// global config: the user's identity, no helpers, no includes.
func (d *draft) git() error {
	d.work = review.New(d.dirs.State, d.ID)
	safe, gitDir := []string{}, ""
	for _, ws := range d.Workspaces {
		safe = append(safe, ws.Path)
	}
	if d.Repo != nil {
		gitDir = d.Repo.GitDir
		for _, x := range d.Repo.Extra {
			if err := d.refuseCredentials(x, "git directory"); err != nil {
				return err
			}
			d.addTree(plan.Mount{Src: x, Dst: x, Why: "git directory of this " + string(d.Repo.Kind)}, ".git")
			safe = append(safe, x)
		}
		d.hideMonitor()
		for _, a := range d.Repo.Alternates {
			d.notice(fmt.Sprintf("this repository borrows objects from %s: add --ro %[1]s if git misses them", plan.Show(a)))
		}
	}
	config := d.getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(d.User.Home, ".config")
	}
	own := repo.ReadHost([]string{filepath.Join(config, "git/config"), filepath.Join(d.User.Home, ".gitconfig")}, gitDir, d.User.Home, d.agentWrites)
	d.Warnings = append(d.Warnings, own.Broken...)
	d.Notices = append(d.Notices, own.LeftOut...)
	// All directories: what belongs to another id looks like nobody's inside,
	// and git would refuse to touch what it was started for.
	signing, err := d.signing(own)
	if err != nil {
		return err
	}
	text := repo.CuratedConfig(repo.Curated{Settings: own.Settings, Safe: append(safe, "*"), Rewrites: d.rewrites, Sign: signing})
	d.files = append(d.files, plan.File{Dst: gitConfigPath, Data: []byte(text), Why: "curated git config"})
	d.base = append(d.base, policy.Setting{Name: "GIT_CONFIG_GLOBAL", Value: gitConfigPath, Source: policy.Source{File: "git"}})
	return nil
}

// gitSays adds to the curated config.
func (d *draft) gitSays(text string) {
	for i := range d.files {
		if d.files[i].Dst == gitConfigPath {
			d.files[i].Data = append(slices.Clone(d.files[i].Data), text...)
		}
	}
}

// ignoreMasked makes git inside pass over the files that show phantoms: else `git add -A`
// would commit one, and `git stash -u` put it away and not find its place free again. What
// git tracks already, or is told to add by force, it adds. A repository with a
// core.excludesFile of its own reads only that.
func (d *draft) ignoreMasked() {
	var lines []string
	for p := range d.masking.masked {
		if line, ok := ignoreLine(p); ok {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return
	}
	slices.Sort(lines)
	d.place(gitIgnorePath, []byte(strings.Join(lines, "")), "files that show phantoms, which git passes over")
	d.gitSays("[core]\n\texcludesFile = \"" + gitIgnorePath + "\"\n")
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
