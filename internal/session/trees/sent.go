package trees

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Where the session runs on another machine, a tree is copied there before it starts. What
// is found later has gone by then, so every look is at all of the tree, and one that cannot
// be refuses the launch.

// forCopy is a budget with which all is looked at, for a tree that is copied.
func forCopy(b *launch.Base, usual scan.Budget) scan.Budget {
	if b.Machine() == nil {
		return usual
	}
	usual.Entries, usual.Depth, usual.Bytes, usual.Time, usual.Always, usual.Deep = 1_000_000, 4096, 1<<30, 10*time.Minute, 0, true
	return usual
}

// wholly refuses to copy a tree that not all was looked at of.
func wholly(b *launch.Base, root string, complete bool) error {
	if b.Machine() == nil || complete {
		return nil
	}
	return fault.New(fault.Refused, "make all of it readable, show less of this machine, or use --rung native",
		"not all of %s could be looked at for secrets, and it is not sent to another machine", plan.Show(root))
}

// judgeSent refuses what is about to be listed with its content, and what the look at the
// launch would have masked or taken a login out of: it is new since then. It sees the bytes
// that go. Of a link that has such a name, what it leads to is read here once more.
func (k *Changes) judgeSent(p string, begins []byte, link bool) error {
	root, rel := k.sentRoot(p)
	var err error
	switch m := &k.trees.masking; {
	case root != "" && m.rules.Match(rel) && link:
		if at, _, _, secret := m.phantom(root, rel); secret && !k.covered(at) {
			err = errCame
		}
	case root != "" && m.rules.Match(rel):
		if _, _, secret := m.standsFor(root, p, rel, begins); secret {
			err = errCame
		}
	case !link && holdsLogin(p, begins) && (root == "" || gitHolds(filepath.Dir(p)) || !m.tells(root, p, begins)):
		err = errLogin
	case !link && k.leadsToLogin(p, begins):
		err = errIncludes
	}
	return err
}

var (
	errCame     = errors.New("it came while the launch was under way, and holds secrets: start it again")
	errIncludes = errors.New("git reads a file of what is sent along with it that holds a login, or cannot be read: hide that file with --mask")

	errLogin = errors.New("it holds a login, or cannot be read as git does: hide it with --mask")
)

// sentRoot is the tree that a path lies in, of those that secrets are looked for in.
func (k *Changes) sentRoot(p string) (root, rel string) {
	roots := []string{}
	for _, r := range k.trees.masking.roots {
		roots = append(roots, r.path)
	}
	if k.trees.Clone != "" {
		roots = append(roots, k.Work.CloneDir())
	}
	for _, root := range roots {
		if rel, below := strings.CutPrefix(p, root+"/"); below {
			return root, rel
		}
	}
	return "", ""
}

// covered holds for a file that shows phantoms, or is hidden.
func (k *Changes) covered(p string) bool {
	_, masked := k.trees.masking.kind(p)
	return masked || k.hidden(p)
}

// holdsLogin holds for settings of git with a login in them, wherever they lie: nobody says
// what becomes of a directory there.
func holdsLogin(p string, begins []byte) bool {
	switch dir, base := filepath.Split(p); base {
	case ".git-credentials": // elsewhere it is masked by its name
		return len(begins) > 0 && slices.Contains(strings.Split(dir, "/"), ".git")
	case "config", "config.worktree":
		_, found, err := settings.WithoutGitLogins(begins)
		if unclear := err != nil || len(begins) > maxSecret; unclear && gitHolds(dir) {
			return true
		}
		return len(found) > 0
	}
	if len(begins) > maxSecret || bytes.IndexByte(begins, '[') < 0 || !gitHolds(filepath.Dir(p)) {
		return false
	}
	_, found, err := settings.WithoutGitLogins(begins) // others may be included by those
	return err == nil && len(found) > 0
}

// gitHolds holds for a directory that git takes for one of its own.
func gitHolds(dir string) bool {
	has := func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }
	return filepath.Base(dir) == ".git" || has("HEAD") && (has("objects") || has("commondir"))
}
