package microvm

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// ofGuest reports whether a place is the guest's own, and no share.
func ofGuest(dst string) bool { return file.Within(dst, "/proc") || file.Within(dst, "/dev") }

// sharing collects what is done below the share.
type sharing struct {
	session *plan.Plan
	out     []plan.Op
	bound   []plan.Op // what shows something of the host
	caches  []plan.Op
	sealed  []plan.Op // what is made read-only at the end
}

// shares shows below one directory what the session's plan shows of this machine, at the
// places where it shows it: everything that is hidden there is hidden here. What is writable
// there is read-only here. Inodes are compared here, since they have other numbers in the
// guest.
func shares(session *plan.Plan) ([]plan.Op, error) {
	s := sharing{session: session}
	for _, o := range session.Ops {
		if ofGuest(string(o.Dst)) {
			continue
		}
		if err := s.take(o); err != nil {
			return nil, err
		}
	}
	slices.Reverse(s.sealed) // what is deeper first
	return append(s.out, s.sealed...), nil
}

func (s *sharing) add(o plan.Op) {
	o.Dst = shareAt + o.Dst
	s.out = append(s.out, o)
}

func (s *sharing) take(o plan.Op) error {
	switch o.Do {
	case plan.DoBind:
		s.add(plan.Op{Do: plan.DoBind, Dst: o.Dst, Src: o.Src, ID: o.ID})
		s.bound = append(s.bound, o)
	case plan.DoLayer:
		shown, err := covered(o)
		if err != nil {
			return err
		}
		s.add(shown)
		s.bound = append(s.bound, o)
	case plan.DoCache:
		s.add(plan.Op{Do: plan.DoBind, Dst: lowerAt(o.Dst, 0), Src: o.Src, ID: o.ID})
		for n, lower := range o.Lower {
			s.add(plan.Op{Do: plan.DoBind, Dst: lowerAt(o.Dst, n+1), Src: lower})
		}
		s.caches = append(s.caches, o)
	case plan.DoTmpfs: // so that what it hides is hidden, and what lies in it has a place
		s.add(plan.Op{Do: plan.DoTmpfs, Dst: o.Dst, Size: s.room(o.Dst), Mode: 0o755})
		s.sealed = append(s.sealed, plan.Op{Do: plan.DoReadOnly, Dst: shareAt + o.Dst})
	case plan.DoDir:
		s.add(plan.Op{Do: plan.DoDir, Dst: o.Dst, Mode: 0o755})
	case plan.DoMask:
		s.add(plan.Op{Do: plan.DoMask, Dst: o.Dst})
		s.hideBelow(o.Dst)
	case plan.DoFile: // it may lie over one of the host's
		if slices.ContainsFunc(s.bound, func(b plan.Op) bool { return file.Within(string(o.Dst), string(b.Dst)) }) {
			s.add(plan.Op{Do: plan.DoMask, Dst: o.Dst})
		}
		s.hideBelow(o.Dst)
	}
	return nil
}

// hideBelow hides a name of a cache in all of the directories that the cache is made of, which
// are shared beside each other.
func (s *sharing) hideBelow(dst plan.Raw) {
	for _, c := range s.caches {
		if dst == c.Dst || !file.Within(string(dst), string(c.Dst)) {
			continue
		}
		for n := range len(c.Lower) + 1 {
			s.add(plan.Op{Do: plan.DoMask, Dst: lowerAt(c.Dst, n) + dst[len(c.Dst):]})
		}
	}
}

// room is how large a memory file system is that has nothing but names in it: those of all that
// is attached below. A page brings an inode along.
func (s *sharing) room(dst plan.Raw) int64 {
	const least, page = 1 << 20, 16 << 10
	names := 0
	for _, o := range s.session.Ops {
		if file.Within(string(o.Dst), string(dst)) {
			names += 1 + strings.Count(string(o.Dst[len(dst):]), "/")
		}
	}
	return least + int64(names)*page
}

// lowersAt is where directories are shared that lie below others.
const lowersAt = "/.lower"

func lowerAt(dst plan.Raw, n int) plan.Raw {
	return plan.Raw(lowersAt + string(dst) + fmt.Sprintf("/%d", n))
}
