package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/keeper"
	"ringfence.dev/ringfence/internal/workspace/phantom"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// maskLater masks a file in a running session: it becomes private, with phantoms. What
// was masked before is looked at again only if it changed. shown says that it has
// a name of such and is shown as it is, as long as nobody writes something else into it.
func (k *keeping) maskLater(root, rel string, changed bool) (shown bool, err error) {
	s := k.live.session
	if err := s.masking.inPlace(root); err != nil {
		return false, err
	}
	if _, known := s.masking.kind(filepath.Join(root, rel)); known && !changed && !k.bare(filepath.Join(root, rel)) {
		return false, nil
	}
	p, data, kind, ok := s.masking.phantom(root, rel)
	if !ok || s.hides(p) {
		return !ok && kind == phantom.None, nil
	}
	data = scan.Mend(rel, data) // nobody has trusted what it is by now
	cover, err := k.coverFile(p, data)
	if err != nil || cover != keeper.Covered {
		return err == nil && cover == keeper.Own, err
	}
	s.masking.shows(p, data)
	fresh, err := s.masking.add(p, kind)
	if fresh {
		k.live.record(journal.Record{Kind: journal.Work, Event: journal.Masked, Name: p, Reason: string(kind)})
	}
	return false, err
}

// hides holds for what is hidden altogether.
func (s *Session) hides(p string) bool {
	return slices.ContainsFunc(s.Plan.Ops, func(o plan.Op) bool { return o.Do == plan.DoMask && file.Within(p, string(o.Dst)) })
}

// inLive finds the live tree that a path lies in.
func (k *keeping) inLive(p string) (n int, rel string) {
	s := k.live.session
	n = treeOf(s.Plan.Trees, func(t plan.Tree) string { return string(t.Path) }, p)
	if n < 0 || k.keeper == nil {
		return -1, ""
	}
	return n, strings.TrimPrefix(p[len(s.Plan.Trees[n].Path):], "/")
}

// bare says whether the sandbox may see the host's file.
func (k *keeping) bare(p string) bool {
	n, rel := k.inLive(p)
	switch {
	case n >= 0:
		return k.keeper.Bare(n, rel)
	case treeOf(k.live.session.work.Trees, func(t review.Tree) string { return t.Path }, p) >= 0:
		return false // in a layer it was written anew, and is not the host's
	}
	return keeper.BareAt(k.live.box.PID(), p)
}

// coverFile puts data in the place of a file, for the sandbox.
func (k *keeping) coverFile(p string, data []byte) (keeper.Cover, error) {
	s := k.live.session
	if n, rel := k.inLive(p); n >= 0 {
		cover, err := k.keeper.Mask(n, rel, data)
		if err == nil && cover == keeper.Covered {
			k.note(n, rel, data)
		}
		return cover, err
	}
	if n := treeOf(s.work.Trees, func(t review.Tree) string { return t.Path }, p); n >= 0 {
		return k.maskInLayer(n, strings.TrimPrefix(p[len(s.work.Trees[n].Path):], "/"), data)
	}
	if k.keeper == nil {
		return keeper.ShutAt(k.live.box.PID(), p)
	}
	return k.keeper.MaskAt(p, data)
}

// maskInLayer writes the phantom through the sandbox's own view of a tree that is
// under review: it goes to the layer. What the layer has already is the agent's, unless
// it is what the host has.
func (k *keeping) maskInLayer(n int, rel string, data []byte) (keeper.Cover, error) {
	s := k.live.session
	p := filepath.Join(s.work.Trees[n].Path, rel)
	root, err := unix.Open("/proc/"+strconv.Itoa(k.live.box.PID())+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return keeper.Covered, err
	}
	defer unix.Close(root)
	open := func(flags int) (*os.File, error) {
		fd, err := sys.OpenAt(root, strings.TrimPrefix(p, "/"), flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), p), nil
	}
	if _, err := os.Lstat(filepath.Join(s.work.Upper(n), rel)); err == nil {
		if same, err := k.asHost(p, open); err != nil || !same {
			return keeper.Own, err
		}
	}
	f, err := open(unix.O_WRONLY | unix.O_TRUNC)
	switch {
	case noSuchFile(err):
		return keeper.Gone, nil
	case errors.Is(err, unix.EROFS):
		return keeper.Covered, nil // a mask of the launch
	case err != nil:
		return keeper.Covered, err
	}
	k.note(n, rel, data)
	_, err = f.Write(data)
	return keeper.Covered, errors.Join(err, f.Close())
}

// note remembers what stands in a layer, to be written down with others.
func (k *keeping) note(n int, rel string, data []byte) {
	if k.stands == nil {
		k.stands = map[int]map[string][]byte{}
	}
	if k.stands[n] == nil {
		k.stands[n] = map[string][]byte{}
	}
	k.stands[n][rel] = data
}

// writeDown keeps what was noted, for the review.
func (k *keeping) writeDown() {
	for n, phantoms := range k.stands {
		if err := k.live.session.work.Masked(n, phantoms); err != nil {
			k.live.say(fmt.Sprintf("what was masked could not be written down: %v", err))
			return
		}
		delete(k.stands, n)
	}
}

// asHost says whether the sandbox sees what the host has at p.
func (k *keeping) asHost(p string, open func(int) (*os.File, error)) (bool, error) {
	f, err := open(unix.O_RDONLY)
	if noSuchFile(err) {
		return false, nil
	}
	if err != nil {
		return true, nil // hide what cannot be told
	}
	defer f.Close()
	inside, err := readRegular(f)
	host, herr := readSecret(p)
	if errors.Is(err, errNoFile) {
		return false, nil
	}
	return err != nil || herr != nil || string(inside) == string(host), nil
}
