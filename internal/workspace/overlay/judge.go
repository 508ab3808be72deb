package overlay

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// maxMerge bounds the texts that are merged: they are held in memory.
const maxMerge = 4 << 20

// judgeAll decides about every selected change before anything is written.
func (a *applier) judgeAll() error {
	a.settleMoves()
	for _, it := range a.items {
		if !it.selected || it.outcome != "" {
			continue
		}
		if err := a.judge(it); err != nil {
			return fmt.Errorf("judge %q: %w", it.path, err)
		}
	}
	for _, it := range a.items {
		if it.selected && isDir(it.low) && it.change.New != nil && !isDir(it.up) {
			a.judgeReplaced(it)
		}
	}
	return nil
}

// judge decides about one change.
func (a *applier) judge(it *item) error {
	old, new := it.change.Old, it.change.New
	switch {
	case it.deep:
		it.fail("its path is too long")
	case new == nil:
		a.judgeRemoval(it)
	case new.Type == change.Special:
		it.fail("a pipe, a socket or a device is never brought to the host")
	case old == nil && a.goneOnHost(it):
		it.fail("deleted on the host meanwhile")
	case old == nil, isDir(it.low) && new.Type != change.Directory:
		it.act = creation(new)
	case isDir(it.low):
		it.act = setMode
	case old.Type == change.File && new.Type == change.File && old.Hash == new.Hash:
		it.act = setMode
		if it.low.Nlink > 1 {
			it.act = writeFile // the other names of the file keep their mode
		}
	default:
		return a.judgeOverwrite(it)
	}
	return nil
}

func creation(n *change.Node) action {
	switch n.Type {
	case change.Directory:
		return makeDir
	case change.Symlink:
		return makeLink
	}
	return writeFile
}

// judgeRemoval: a file that the host changed meanwhile stays. A directory has no
// content of its own: it stays if anything stays in it.
func (a *applier) judgeRemoval(it *item) {
	it.act = remove
	if !isDir(it.low) && !a.force && a.l.touched(it.low) && !a.hostIsBase(it) {
		it.fail("deleted by the session, changed on the host meanwhile")
	}
}

// judgeOverwrite: the host has something there that is no directory.
func (a *applier) judgeOverwrite(it *item) error {
	if a.merged(it) {
		it.succeed(Merged)
		return nil
	}
	it.act = creation(it.change.New)
	if a.force || !a.l.touched(it.low) || a.hostIsBase(it) {
		return nil
	}
	if a.l.isIndex(it.path) {
		// Without it a commit that is brought over would look undone on the host.
		it.fail("the host's git wrote its index meanwhile; --partial leaves it as it is")
		return nil
	}
	if it.act != writeFile || it.change.Old.Type != change.File {
		it.fail("changed on the host meanwhile")
		return nil
	}
	_, ok, err := a.merge(it)
	if err != nil {
		return err
	}
	it.act = mergeFile
	if !ok {
		it.fail("changed on the host meanwhile, and not to be merged")
	}
	return nil
}

// merged reports whether an interrupted run has written the merged text already.
func (a *editor) merged(it *item) bool {
	if a.log == nil {
		return false
	}
	r, ok := a.log.merge[it.path]
	return ok && r.Hash == it.change.Old.Hash && r.Was == it.change.New.Hash
}

// judgeReplaced: a directory that gives way to something else goes as a whole or
// not at all.
func (a *applier) judgeReplaced(it *item) {
	prefix := it.path + "/"
	first, _ := slices.BinarySearchFunc(a.items, prefix, func(x *item, p string) int { return strings.Compare(x.path, p) })
	inside := a.items[first:]
	if end := slices.IndexFunc(inside, func(x *item) bool { return !strings.HasPrefix(x.path, prefix) }); end >= 0 {
		inside = inside[:end]
	}
	for _, other := range inside {
		if other.outcome == Conflict {
			it.fail("%q stays on the host: %s", other.path, other.why)
		}
	}
	for _, other := range inside {
		if it.outcome == Conflict && other.selected {
			other.fail("its directory stays")
		}
	}
}

// base returns what both sides started from.
func (a *editor) base(rel string) ([]byte, bool) {
	if a.l.Base == nil {
		return nil, false
	}
	return a.l.Base(rel)
}

// hostIsBase reports whether the host still has what both sides started from,
// whatever its times say.
func (a *editor) hostIsBase(it *item) bool {
	if it.change.Old.Type != change.File || it.change.Old.Hash == "" {
		return false
	}
	b, ok := a.base(it.path)
	return ok && hashOf(b) == it.change.Old.Hash
}

// merge merges the session's text with what the host made of it meanwhile.
func (a *applier) merge(it *item) ([]byte, bool, error) {
	b, ok := a.base(it.path)
	if !ok || it.change.Old.Hash == "" || len(b) > maxMerge || it.change.Old.Size > maxMerge || it.change.New.Size > maxMerge {
		return nil, false, nil
	}
	ours, err := readWhole(a.host, it.path, it.change.Old.Hash)
	if err != nil {
		return nil, false, err
	}
	theirs, err := readWhole(a.upper, it.path, it.change.New.Hash)
	if err != nil || ours == nil || theirs == nil {
		return nil, false, err
	}
	if !change.IsText(b) || !change.IsText(ours) || !change.IsText(theirs) {
		return nil, false, nil
	}
	out, ok := change.Three(b, ours, theirs)
	return out, ok, nil
}

// readWhole reads a small file, or returns nil if it is not what it was.
func readWhole(t *tree, rel, want string) ([]byte, error) {
	f, err := t.openRegular(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxMerge+1))
	if err != nil {
		return nil, err
	}
	if hashOf(b) != want {
		return nil, nil
	}
	return append([]byte{}, b...), nil
}

// isIndex reports whether a path is the index of a repository. It is a cache that
// git makes anew, and two sides cannot share one.
func (l *Layer) isIndex(rel string) bool {
	_, inside := l.inGit(rel)
	return base(rel) == "index" && inside != "" && !strings.Contains("/"+inside, "/refs/") && !strings.Contains("/"+inside, "/logs/")
}

// inGit returns the git directory that a path is in, and the path in there. The
// tree may be a git directory itself.
func (l *Layer) inGit(rel string) (dir, inside string) {
	full := l.Root + "/" + rel
	if i := strings.LastIndex(full, "/.git/"); i >= 0 {
		return full[:i+len("/.git")], full[i+len("/.git/"):]
	}
	return "", ""
}
