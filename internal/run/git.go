package run

import (
	"fmt"
	"path/filepath"

	"ringfence.dev/ringfence/internal/gitdir"
	"ringfence.dev/ringfence/internal/plan"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/workspace"
)

const gitConfigPath = plan.Own + "/gitconfig"

// git shows what a repository needs outside the workspace and writes the curated
// global config: the user's identity, no helpers, no includes.
func (d *draft) git() error {
	d.work = workspace.New(d.dirs.State, d.ID)
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
	own := gitdir.ReadHost([]string{filepath.Join(config, "git/config"), filepath.Join(d.User.Home, ".gitconfig")}, gitDir, d.User.Home, d.agentWrites)
	d.Warnings = append(d.Warnings, own.Broken...)
	d.Notices = append(d.Notices, own.LeftOut...)
	// All directories: what belongs to another id looks like nobody's inside,
	// and git would refuse to touch what it was started for.
	signing, err := d.signing(own)
	if err != nil {
		return err
	}
	text := gitdir.CuratedConfig(gitdir.Curated{Settings: own.Settings, Safe: append(safe, "*"), Rewrites: d.rewrites, Sign: signing})
	d.files = append(d.files, plan.File{Dst: gitConfigPath, Data: []byte(text), Why: "curated git config"})
	d.base = append(d.base, policy.Setting{Name: "GIT_CONFIG_GLOBAL", Value: gitConfigPath, Source: policy.Source{File: "git"}})
	return nil
}
