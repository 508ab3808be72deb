// Package parcel carries what a plan shows of this machine to another one: the trees of a
// project, and single files. What something else of the plan covers (a mask, a file that
// stands for one with secrets, another mount) stays here: an empty file or directory goes in
// its place, because the cover needs a name to be mounted on.
//
// A parcel begins with a list of all that is in it, by digest. The other machine keeps
// contents from session to session, and says which of them it has not; only those follow.
//
// Left at risk: whoever owns the other machine reads all that the agent may read.
package parcel

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// Kinds of entries.
const (
	Dir  = 'd'
	File = 'f'
	Link = 'l'
)

// Entry is one name of a tree. The first one of a tree has an empty path: the tree itself.
type Entry struct {
	Kind   byte   `json:"k"`
	Path   []byte `json:"p,omitempty"`
	Mode   uint32 `json:"m,omitempty"`
	Sec    int64  `json:"s,omitempty"` // of its time of change
	Nsec   int64  `json:"n,omitempty"`
	Size   int64  `json:"z,omitempty"` // of a file
	Sum    []byte `json:"h,omitempty"` // of a file that is not empty
	Target []byte `json:"t,omitempty"` // of a link
}

// List is what a parcel holds.
type List struct {
	Key   string    `json:"key"`   // of the project: what was kept under it is looked at first
	Trees [][]Entry `json:"trees"` // in the order of the operations that show them
}

// The bounds of a parcel.
const (
	MaxEntries = 500_000
	MaxBytes   = 16 << 30
	MaxFile    = 4 << 30
	MaxList    = 256 << 20 // of a list as it is sent
)

// Full is a bound that was reached. Nothing is sent.
type Full struct{ What string }

func (f *Full) Error() string {
	return "a project with more than " + f.What + " is not sent to another machine"
}

// content is one that a parcel has, wherever it stands.
type content struct {
	sum  [sha256.Size]byte
	size int64
}

// contents lists them in the order in which they first stand, each once. Both ends number
// them so.
func (l *List) contents() (out []content, err error) {
	seen := map[[sha256.Size]byte]int64{}
	for _, t := range l.Trees {
		for i := range t {
			e := &t[i]
			if e.Kind != File || e.Size == 0 {
				continue
			}
			if len(e.Sum) != sha256.Size || e.Size < 0 || e.Size > MaxFile {
				return nil, fmt.Errorf("%q has no digest, or a size of %d", e.Path, e.Size)
			}
			sum := [sha256.Size]byte(e.Sum)
			size, had := seen[sum]
			if had && size != e.Size {
				return nil, errors.New("two sizes of one content")
			}
			if !had {
				seen[sum] = e.Size
				out = append(out, content{sum, e.Size})
			}
		}
	}
	return out, nil
}
