package trees

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/file"
)

// Settings of git lie in directories that nobody looks through for secrets, and for
// a linked worktree outside of it. git puts another file in their place whenever it writes
// them, and the mount that stands for one goes with it: so each of these directories is
// watched by itself.

// gitHome is a directory with settings of git, and the workspace that it is looked at for.
type gitHome struct{ ws, dir string }

// gitSettings holds for a file of git in one of them that may hold a login.
func (o *lookout) gitSettings(ws, p string) bool {
	base := filepath.Base(p)
	return (base == "config" || base == "config.worktree" || base == ".git-credentials") && o.git[gitHome{ws, filepath.Dir(p)}]
}

// inGit holds for what lies in one of them.
func (o *lookout) inGit(ws, p string) bool {
	for home := range o.git {
		if home.ws == ws && file.Within(p, home.dir) {
			return true
		}
	}
	return false
}

// watchGit watches those that are not watched yet. One in which something changed since
// is judged once more.
func (o *lookout) watchGit(ws string, dirs []string, since time.Time) {
	for _, dir := range dirs {
		dir = scan.At(ws, dir)
		if o.git[gitHome{ws, dir}] {
			continue
		}
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // gone: who makes it anew is told of
		}
		if wd, ok := o.addWatch(fd); ok && !slices.Contains(o.linked[wd], watchedDir{dir, ""}) {
			o.linked[wd] = append(o.linked[wd], watchedDir{dir, ""})
		}
		unix.Close(fd)
		if o.git == nil {
			o.git = map[gitHome]bool{}
		}
		o.git[gitHome{ws, dir}] = true
		if st, err := os.Stat(dir); err == nil && st.ModTime().After(since.Add(-tick)) {
			o.judge[ws] = true
		}
	}
}

// budget is that of the launch, with the repositories that were met since.
func (o *lookout) budget(ws string) scan.Budget {
	b := o.k.trees.Untrusted.watched[ws].budget
	b.Also = append(slices.Clip(b.Also), o.also[ws]...)
	return b
}

// unwatchGit forgets a directory that is gone: one that comes in its place is another.
func (o *lookout) unwatchGit(wd int32) {
	for _, at := range o.linked[wd] {
		for ws := range o.k.trees.Untrusted.watched {
			delete(o.git, gitHome{ws, at.root})
		}
	}
}

// nestedGit has a repository looked at that the walk for secrets meets: the scan has less
// time than that.
func (o *lookout) nestedGit(fd int, root, rel string) {
	var st unix.Stat_t
	if unix.Fstatat(fd, ".git", &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	p := filepath.Join(root, rel, ".git")
	for ws := range o.k.trees.Untrusted.watched {
		if below, in := strings.CutPrefix(p, ws+"/"); in && !o.git[gitHome{ws, p}] {
			o.alsoGit(ws, below)
		}
	}
}

// maxAlso bounds the repositories of a workspace that are looked at because they were met.
const maxAlso = 1024

var errRepositories = errors.New("more repositories than are looked at")

// alsoGit has a repository looked at that somebody met in a workspace.
func (o *lookout) alsoGit(ws, rel string) {
	if rel == ".git" { // always
		return
	}
	o.judge[ws] = true
	if slices.Contains(o.also[ws], rel) {
		return
	}
	if len(o.also[ws]) >= maxAlso {
		o.also[ws] = slices.DeleteFunc(o.also[ws], func(rel string) bool {
			_, err := os.Lstat(filepath.Join(ws, rel))
			return noSuchFile(err)
		})
	}
	if len(o.also[ws]) >= maxAlso {
		o.giveUp(ws, "cannot be looked through for logins of git", errRepositories)
		return
	}
	if o.also == nil {
		o.also = map[string][]string{}
	}
	o.also[ws] = append(o.also[ws], rel)
}
