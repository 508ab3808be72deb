// Package repo finds what git needs to see, without running git and without
// reading the environment: a repository's own config can make git execute a
// program, PATH is not to be trusted before the sandbox stands, and GIT_DIR and
// its kin must not steer what becomes writable.
//
// Everything in a worktree may have been written by an earlier session, so a
// pointer that leaves it is worth nothing by itself. A directory outside the
// worktree is granted only when that directory names this worktree in turn, in a
// file the agent could not have written before it was granted. Whatever is not in
// the form that git itself writes is refused, never guessed.
//
// Only the way up from the start is looked at, never the way down: launch cost
// must not depend on the size of a tree. A start above several repositories needs
// no help, because theirs lie inside it.
//
// What is left at risk: a granted git directory is writable as a whole, hooks and
// config included; the workspace layer protects those. And an agent that once had
// a directory can dress parts of it as git directories, so that a later session
// started further down is given them too: never more than the first one had.
package repo

import (
	"errors"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// Kind says how a worktree and its git directory belong together.
type Kind string

// The kinds of repository.
const (
	Plain               Kind = "plain"                 // the git directory lies in the worktree
	Worktree            Kind = "worktree"              // linked by `git worktree add`
	Submodule           Kind = "submodule"             // git directory among a superproject's modules
	WorktreeOfSubmodule Kind = "worktree-of-submodule" // linked to a submodule's repository
	Separate            Kind = "separate"              // git directory elsewhere, bound by core.worktree
	Bare                Kind = "bare"                  // no worktree
	JJ                  Kind = "jj"                    // a further workspace of a jj repository, without .git
)

// Repo is a repository that passed every check. All paths are absolute and free
// of symlinks.
type Repo struct {
	Kind      Kind
	WorkTree  string // "" for Bare
	GitDir    string // "" for JJ
	CommonDir string // "" for JJ; GitDir unless the worktree is linked
	Main      string // names the repository in the project key; all its worktrees share it
	// Extra lists directories outside Root that must be visible read-write. For
	// a worktree kept inside its bare repository this is a parent of Root. The
	// caller still checks each against the catalogue of credentials.
	Extra []string
	// Alternates lists object stores that the repository borrows from. The list
	// itself lies where an agent can write, and nothing in a store names its
	// borrowers, so showing one (read-only) takes a word from the user.
	Alternates []string

	// Objects is where the tool repo keeps the objects, with those of other worktrees; "":
	// in the git directory.
	Objects string
}

// Root is the directory that has to be the workspace for git to make sense:
// below it, tracked files would look deleted.
func (r *Repo) Root() string {
	if r.WorkTree == "" {
		return r.GitDir
	}
	return r.WorkTree
}

// Find looks for a repository from start upwards as git does, and returns nil
// without an error when there is none. It stops where the filesystem ends, at
// home and above it (a repository that would need HOME visible is no
// repository here), and at parents that belong to somebody else.
func Find(start, home string) (*Repo, error) {
	at, err := openDir(unix.AT_FDCWD, start, 0)
	if err != nil {
		return nil, err
	}
	f := finder{home: canonical(home), owners: [2]uint32{uint32(unix.Geteuid()), at.uid}}
	for !f.tooHigh(at.path) {
		repo, err := f.look(at)
		if repo != nil || err != nil {
			at.close()
			return repo, err
		}
		up := f.parent(at)
		at.close()
		if up == nil {
			return nil, nil
		}
		at = up
	}
	at.close()
	return nil, nil
}

type finder struct {
	home   string
	owners [2]uint32 // who may own what is found: us, and the owner of start
}

// tooHigh holds for directories that may never be granted, nor be a worktree.
func (f finder) tooHigh(path string) bool {
	return path == "/" || file.Within(f.home, path)
}

func (f finder) owns(uid uint32) bool { return uid == f.owners[0] || uid == f.owners[1] }

// parent returns the next directory to look at, or nil. In a shared parent such
// as /tmp anybody may plant a repository; git stops there with "dubious
// ownership", and so do we, because the curated config switches that check off.
func (f finder) parent(at *dir) *dir {
	up, err := openDir(unix.AT_FDCWD, filepath.Dir(at.path), unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil
	}
	foreign := false
	for _, name := range []string{".git", ".jj", "HEAD"} {
		st, err := up.lstat(name)
		foreign = foreign || err == nil && (!f.owns(st.Uid) || !f.owns(up.uid))
	}
	if up.dev != at.dev || foreign {
		up.close()
		return nil
	}
	return up
}

// look judges one directory; nil and no error mean: nothing here, look above.
func (f finder) look(at *dir) (*Repo, error) {
	repo, err := f.dotGit(at)
	if err != nil {
		return nil, err
	}
	store, err := f.jjStore(at)
	switch {
	case err != nil:
		return nil, err
	case repo == nil && store != nil:
		repo = &Repo{Kind: JJ, WorkTree: at.path, Main: store.main}
	case repo == nil && at.isGitDir():
		if at.has("commondir") {
			return nil, refuse("start in the worktree, not in its git directory",
				"%q is the git directory of a linked worktree", at.path)
		}
		repo = &Repo{Kind: Bare, GitDir: at.path, CommonDir: at.path, Main: mainOf(at.path)}
	case repo == nil:
		return nil, nil
	}
	// A git directory inside the worktree is the agent's to rearrange: it must
	// not choose by it whose state the next session gets.
	if repo.WorkTree != "" && file.Within(repo.Main, repo.WorkTree) {
		repo.Main = repo.WorkTree
	}
	repo.Extra = outside(repo.Root(), append([]string{repo.CommonDir, repo.Objects}, store.dirs()...))
	repo.Alternates = f.alternates(repo)
	return repo, nil
}

// dotGit judges at/.git.
func (f finder) dotGit(at *dir) (*Repo, error) {
	st, err := at.lstat(".git")
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return f.plain(at)
	case unix.S_IFREG:
		b, err := at.read(".git", maxGitfile)
		if err != nil {
			return nil, malformed(at, err)
		}
		target, err := parseGitfile(b)
		if err != nil {
			return nil, malformed(at, err)
		}
		return f.follow(at, target)
	case unix.S_IFLNK:
		target, err := at.readlink(".git")
		if err != nil {
			return nil, malformed(at, err)
		}
		return f.follow(at, target)
	}
	return nil, malformed(at, errors.New("neither a directory nor a file"))
}

func (f finder) plain(at *dir) (*Repo, error) {
	gd, err := openDir(at.fd, ".git", unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, err
	}
	defer gd.close()
	if !gd.isGitDir() {
		return nil, nil // git ignores such a directory too
	}
	if gd.has("commondir") {
		return nil, refuse("remove "+quote(gd.path+"/commondir")+" if you did not write it",
			"%q is a main git directory and borrows another through its commondir file", gd.path)
	}
	return &Repo{Kind: Plain, WorkTree: at.path, GitDir: gd.path, CommonDir: gd.path, Main: mainOf(gd.path)}, nil
}

// mainOf names a repository by its common directory alone, so that all its
// worktrees agree and nothing an agent can write has a say.
func mainOf(common string) string {
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common)
	}
	return common
}

// outside keeps what does not lie within root, each once.
func outside(root string, dirs []string) []string {
	var out []string
	for _, d := range dirs {
		if d != "" && !file.Within(d, root) && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

func refuse(hint, format string, args ...any) error {
	return fault.New(fault.Refused, hint, format, args...)
}

// OutsideDirs are the git directories of a linked worktree: its own, and the one that it
// shares with others.
func (r *Repo) OutsideDirs() []string {
	if r == nil || r.GitDir == "" || file.Within(r.GitDir, r.Root()) && file.Within(r.CommonDir, r.Root()) {
		return nil
	}
	return slices.Compact([]string{r.GitDir, r.CommonDir})
}
