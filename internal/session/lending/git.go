package lending

import (
	"fmt"
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// gitPart is git inside.
type gitPart struct {
	launch.Base
	launch.Contribution
}

// Git shows what a repository needs outside the workspace and curates the global
// config: what of the user's own runs nothing.
func Git(b launch.Base) (launch.Contribution, error) {
	gp := &gitPart{Base: b}
	err := gp.prepare()
	return gp.Contribution, err
}

func (gp *gitPart) prepare() error {
	safe, gitDir := gp.Paths(), ""
	if gp.Repo != nil {
		gitDir = gp.Repo.GitDir
		for _, x := range gp.Repo.Extra {
			if err := gp.RefuseCredentials(x, "git directory"); err != nil {
				return err
			}
			gp.AddTree(plan.Mount{Src: x, Dst: x, Why: "git directory of this " + string(gp.Repo.Kind)}, ".git")
			safe = append(safe, x)
		}
		gp.hideMonitor()
		for _, a := range gp.Repo.Alternates {
			gp.Notice(fmt.Sprintf("this repository borrows objects from %s: add --ro %[1]s if git misses them", plan.Show(a)))
		}
	}
	own := gp.ownSettings(gitDir)
	// All directories: what belongs to another id looks like nobody's inside,
	// and git would refuse to touch what it was started for.
	signs, signing, err := signing(gp.Base, own)
	if err != nil {
		return err
	}
	gp.Add(signing)
	gp.Git = &repo.Curated{Settings: own.Settings, Safe: append(safe, "*"), Sign: signs}
	gp.Set("git", "GIT_CONFIG_GLOBAL", launch.GitConfigPath)
	return nil
}

// hideMonitor masks the socket of git's file system monitor, a process of the host
// that listens inside the git directory.
func (gp *gitPart) hideMonitor() {
	for _, dir := range []string{gp.Repo.GitDir, gp.Repo.CommonDir} {
		p := filepath.Join(dir, "fsmonitor--daemon.ipc")
		if st, err := os.Lstat(p); dir != "" && err == nil && st.Mode()&os.ModeSocket != 0 {
			gp.Masks = append(gp.Masks, plan.Mask{Path: p, Why: "socket of a host process"})
		}
	}
}
