package review

import (
	"path"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// OutsideJudge knows what a person would miss.
//
//   - Whatever lies beside a workspace, also higher up: `../lost.txt`, a worktree at
//     `../wt`. Where a workspace lies right in /tmp, what is beside it counts as well.
//   - Every name in HOME that is not hidden.
//   - Of the hidden ones, those that people write themselves: start-up files of shells,
//     git's settings, ~/.ssh, ~/.local/bin.
//
// The rest is what programs write for themselves (caches, histories, scratch in /tmp,
// /run and /dev/shm): a list of that at every end would be read by nobody.
type OutsideJudge struct {
	Home       string
	Workspaces []string
}

// byPeople are hidden names in HOME that people write, or ask for.
var byPeople = []string{".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".inputrc", ".vimrc", ".tmux.conf", ".gitconfig", ".gitignore", ".npmrc", ".ssh", ".local/bin",
	".config/git", ".config/fish", ".config/nvim", ".config/systemd", ".config/autostart"}

// noise lies among them and is written by programs without being asked.
var noise = []string{"go/pkg", ".ssh/known_hosts", ".ssh/known_hosts.old"}

// looks tells whether anything in the file system at this path may count.
func (j OutsideJudge) looks(at string) bool {
	return at == j.Home || slices.ContainsFunc(j.Workspaces, func(w string) bool { return file.Within(w, at) })
}

// Misses holds for a path inside that a person would look for afterwards.
func (j OutsideJudge) Misses(p string) bool {
	if slices.ContainsFunc(j.Workspaces, func(w string) bool { return file.Within(p, w) }) {
		return false // kept
	}
	if rel, ok := j.inHome(p); ok {
		if within(rel, noise) {
			return false
		}
		if within(rel, byPeople) || rel[0] != '.' && !leads(rel, noise) && !j.leadsToWork(p) {
			return true
		}
	}
	return slices.ContainsFunc(j.Workspaces, func(w string) bool { return j.beside(p, w) })
}

// enters holds for a directory that does not count itself, and below which something
// may.
func (j OutsideJudge) enters(p string) bool {
	if rel, ok := j.inHome(p); ok && (leads(rel, byPeople) || leads(rel, noise)) {
		return true
	}
	return p == j.Home || j.leadsToWork(p)
}

func (j OutsideJudge) inHome(p string) (rel string, ok bool) {
	rel, ok = strings.CutPrefix(p, j.Home+"/")
	return rel, ok && rel != ""
}

// leadsToWork holds for the directories above a workspace.
func (j OutsideJudge) leadsToWork(p string) bool {
	return slices.ContainsFunc(j.Workspaces, func(w string) bool { return file.Within(w, p) })
}

// beside holds for what lies below a directory that a workspace lies in, up to HOME and
// the directories that are everybody's.
func (j OutsideJudge) beside(p, workspace string) bool {
	if file.Within(workspace, p) {
		return false // it only leads there
	}
	if file.Within(p, j.Home) && !file.Within(workspace, j.Home) {
		return false
	}
	for dir := path.Dir(workspace); dir != "/" && dir != j.Home; dir = path.Dir(dir) {
		if slices.Contains(shared, dir) {
			rel, ok := strings.CutPrefix(p, dir+"/")
			return ok && dir == path.Dir(workspace) && rel[0] != '.'
		}
		if file.Within(p, dir) {
			return true
		}
	}
	return false
}

// shared are directories of everybody: only what is right beside a workspace counts.
var shared = []string{"/tmp", "/var/tmp"}

func within(rel string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return file.Within(rel, n) })
}

// leads holds for a directory above some of the names.
func leads(rel string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n != rel && file.Within(n, rel) })
}
