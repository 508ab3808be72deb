// Package upper carries the upper directory of an overlay over a stream: what an agent
// changed at a far end comes here and is reviewed here, as if it had been made here.
//
// Who receives takes the sender for hostile. Every field has one form and a bound, names
// come in order, and what comes is made beneath a descriptor of an empty directory of our
// own. No link is followed. Nothing is made but directories, files, symbolic links, the
// marks of overlayfs, and a pipe in the place of everything that is none of these, so that
// the review names it. No owner is changed and no file gets the set-uid or set-gid bit.
//
// A stream says all that is there. Of a file that is as it was in the generation before,
// it says just that, and the file is taken from there by a hard link. So a generation is
// whole or is not there: a sender that dies loses nothing that it had brought over.
//
// Left at risk: a file that is written while it is sent can come half old and half new. At
// the end of a session, when nothing is written any more, all files are compared by content.
package upper

import (
	"errors"
	"fmt"
)

// The marks of overlayfs with the option userxattr.
const (
	markOpaque   = "user.overlay.opaque"
	markWhiteout = "user.overlay.whiteout"
	markOrigin   = "user.overlay.origin"
)

// foreign marks say that content is elsewhere. Our mounts never make them.
var foreign = []string{"user.overlay.redirect", "user.overlay.metacopy"}

// What a stream consists of. A record begins with one of these.
const (
	recordDir       = 'd' // name, mode, marks, time; what is in it follows, and then up
	recordUp        = 'u'
	recordFile      = 'f' // name, mode, marks, time, size, pieces
	recordSame      = 's' // name: a file that is as it was
	recordLink      = 'l' // name, time, target
	recordWhite     = 'w' // name: something of the host that is gone
	recordSpecial   = 'x' // name: something that is never brought over
	recordEnd       = 'e' // how many entries there were
	recordUnchanged = '=' // alone: everything is as it was
)

// preface begins a stream. The last byte is the version.
const preface = "rfupper\x01"

// Marks of an entry.
const (
	opaque = 1 << iota // a directory hides what the host has in it
	origin             // overlayfs copied it from the host
)

// The bounds of one stream.
const (
	MaxName   = 255
	MaxPath   = 4000     // as the review has it; what lies deeper is special
	MaxTarget = 4095     // of a symbolic link
	MaxFile   = 4 << 30  // as the review has it; a longer file is special
	MaxPiece  = 64 << 10 // of a file
)

// Bounds are those that a receiver chooses.
type Bounds struct {
	Entries int
	Bytes   int64 // of files, without their holes
	Spare   int64 // bytes that stay free on the disk, and at most a twentieth of it; 0: none
}

// Most is what a review can look at, and what it leaves to others on the same disk.
var Most = Bounds{Entries: 1 << 20, Bytes: 16 << 30, Spare: 1 << 30}

// Wrong is something that an honest sender never sends.
type Wrong string

func (w Wrong) Error() string { return "not what a layer looks like: " + string(w) }

func wrong(format string, args ...any) error { return Wrong(fmt.Sprintf(format, args...)) }

// Full is a bound that was reached. Nothing of the stream is taken.
type Full struct {
	What string
	Here bool // of this disk, where room can be made; else one that no layer passes
}

func (f *Full) Error() string { return "a layer with more than " + f.What + " is not brought over" }

var errForeign = errors.New("it has a mark of overlayfs that no mount of ringfence makes")
