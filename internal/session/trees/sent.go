package trees

import (
	"errors"
	"path/filepath"
	"time"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// Where the session runs on another machine, a tree is copied there before it starts. What
// is found later has gone by then, so every look is at all of the tree, and one that cannot
// be refuses the launch.

// forCopy is a budget with which all is looked at, for a tree that is copied.
func forCopy(b *launch.Base, usual scan.Budget) scan.Budget {
	if b.Machine() == nil {
		return usual
	}
	usual.Entries, usual.Depth, usual.Bytes, usual.Time, usual.Always = 1_000_000, 4096, 1<<30, 10*time.Minute, 0
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

// judgeSent refuses a file that is about to be listed with its content, and that the look at
// the launch would have masked: it is new since then. Logins of git are not looked for again.
func (k *Changes) judgeSent(p string) error {
	m := &k.trees.masking
	for _, r := range m.roots {
		if p == r.path || !file.Within(p, r.path) {
			continue
		}
		rel := p[len(r.path)+1:]
		if !m.rules.Match(rel) || phantom.Pruned(filepath.Dir(filepath.Dir(rel))) { // nobody looks there
			return nil
		}
		if _, _, _, secret := m.phantom(r.path, rel); secret {
			return errors.New("it came while the launch was under way, and holds secrets: start it again")
		}
	}
	return nil
}
