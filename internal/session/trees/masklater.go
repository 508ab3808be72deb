package trees

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/workspace/keeper"
	"ringfence.dev/ringfence/internal/workspace/phantom"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// maskLater masks a file in a running session: it becomes private, with phantoms. What
// was masked before is looked at again only if it changed. shown says that it has
// a name of such and is shown as it is, as long as nobody writes something else into it.
func (k *Changes) maskLater(root, rel string, changed bool) (shown bool, err error) {
	if err := k.trees.masking.inPlace(root); err != nil {
		return false, err
	}
	if _, known := k.trees.masking.kind(filepath.Join(root, rel)); known && !changed && !k.bare(filepath.Join(root, rel)) {
		return false, nil
	}
	p, data, kind, ok := k.trees.masking.phantom(root, rel)
	if !ok || k.hidden(p) {
		return !ok && kind == phantom.None, nil
	}
	data = scan.Mend(rel, data) // nobody has trusted what it is by now
	cover, err := k.coverFile(p, data)
	if err != nil || cover != keeper.Covered {
		return err == nil && cover == keeper.Own, err
	}
	k.trees.masking.shows(p, data)
	fresh, err := k.trees.masking.add(p, kind)
	if fresh {
		k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Masked, Name: p, Reason: string(kind)})
	}
	return false, err
}

// hidden holds for what is hidden altogether.
func (k *Changes) hidden(p string) bool {
	return slices.ContainsFunc(k.plan.Ops, func(o plan.Op) bool { return o.Do == plan.DoMask && file.Within(p, string(o.Dst)) })
}

// inLive finds the live tree that a path lies in.
func (k *Changes) inLive(p string) (n int, rel string) {
	n = treeOf(k.plan.Trees, func(t plan.Tree) string { return string(t.Path) }, p)
	if n < 0 || k.keeper == nil {
		return -1, ""
	}
	return n, strings.TrimPrefix(p[len(k.plan.Trees[n].Path):], "/")
}

// bare says whether the sandbox may see the host's file.
func (k *Changes) bare(p string) bool {
	n, rel := k.inLive(p)
	switch {
	case n >= 0:
		return k.keeper.Bare(n, rel)
	case treeOf(k.Work.Trees, func(t review.Tree) string { return t.Path }, p) >= 0:
		return false // in a layer it was written anew, and is not the host's
	}
	return k.bareAt(p)
}

// bareAt is bare for a file that lies in no tree.
func (k *Changes) bareAt(p string) bool {
	root, err := k.openRoot()
	if err != nil {
		return true
	}
	defer root.Close()
	return keeper.BareAt(int(root.Fd()), p)
}

// errReach: what the agent sees is served by another kernel, with mounts of its own.
var errReach = errors.New("a mount that is made later does not reach the agent on this rung")

// coverFile puts data in the place of a file, for the sandbox.
func (k *Changes) coverFile(p string, data []byte) (keeper.Cover, error) {
	if n, rel := k.inLive(p); n >= 0 {
		cover, err := k.keeper.Mask(n, rel, data)
		if err == nil && cover == keeper.Covered {
			k.note(n, rel, data)
		}
		return cover, err
	}
	if n := treeOf(k.Work.Trees, func(t review.Tree) string { return t.Path }, p); n >= 0 {
		return k.maskInLayer(n, strings.TrimPrefix(p[len(k.Work.Trees[n].Path):], "/"), data)
	}
	switch {
	case k.apart:
		return keeper.Covered, errReach
	case k.keeper == nil:
		return keeper.ShutAt(k.box.PID(), p)
	}
	return k.keeper.MaskAt(p, data)
}

// maskInLayer puts the phantom into the layer of a tree that is under review. What the
// layer has already is the agent's, unless it is what the host has.
func (k *Changes) maskInLayer(n int, rel string, data []byte) (keeper.Cover, error) {
	placed, err := k.box.Put(filepath.Join(k.Work.Trees[n].Path, rel), data)
	switch {
	case err != nil:
		return keeper.Covered, err
	case placed == rung.NotThere:
		return keeper.Gone, nil
	case placed == rung.TheirOwn:
		return keeper.Own, nil
	case placed == rung.Done:
		k.note(n, rel, data)
	}
	return keeper.Covered, nil
}

// note remembers what stands in a layer, to be written down with others.
func (k *Changes) note(n int, rel string, data []byte) {
	if k.stands == nil {
		k.stands = map[int]map[string][]byte{}
	}
	if k.stands[n] == nil {
		k.stands[n] = map[string][]byte{}
	}
	k.stands[n][rel] = data
}

// writeDown keeps what was noted, for the review.
func (k *Changes) writeDown() {
	for n, phantoms := range k.stands {
		if err := k.Work.Masked(n, phantoms); err != nil {
			k.run.Say(fmt.Sprintf("what was masked could not be written down: %v", err))
			return
		}
		delete(k.stands, n)
	}
}
