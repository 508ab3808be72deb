package undo

import (
	"crypto/sha256"
	"encoding/hex"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
)

// left is what the session left in a place, as it was when its store was closed. Without it
// only the times of the file system say whether somebody changed something since, and a
// file that somebody deleted looks like one that the session deleted.
type left struct {
	ident        // zero: there was nothing
	means string // of a file of git: what it says, however it is written
}

// maxLeft bounds the notes about places that are not git's.
const maxLeft = 64 << 10

const maxMeaning = 2 << 10

// noteLeft writes down what is in every place that the session touched.
func (s *Store) noteLeft() error {
	d := newDisk(func(tree int) (int, error) { return s.roots[tree], nil })
	var buf []byte
	count := 0
	note := func(at place) {
		p := d.place(at)
		if checkPath(at.rel) != nil {
			return // it could not be read again
		}
		e, err := d.look(at)
		if err != nil && !missing(err) {
			return // the session shut it: only the times speak for it
		}
		if count++; count > maxLeft && p.kind <= gitOther {
			return
		}
		r := &record{op: opLeft, from: at, ident: e.ident, text: d.means(p, at)}
		if len(r.text) > maxMeaning {
			r.text = "" // no name that git takes is so long; the times of the file speak for it
		}
		buf = pack(buf, r)
	}
	var visit func(at place, n *node)
	visit = func(at place, n *node) {
		for name, kid := range n.kids {
			below := place{at.tree, join(at.rel, name)}
			if len(below.rel) > maxPath {
				continue
			}
			if kid.state != inherit && (kid.state != orig || kid.obj.saved != 0) {
				note(below)
				d.looseRefs(below, note)
			}
			visit(below, kid)
		}
	}
	for i, root := range s.names.roots {
		visit(place{i, ""}, root)
	}
	for at, blob := range s.heads { // whether the branch is there to which it would go back
		if name, is := target(refText(s.keptText(blob))); is && checkPath(name) == nil {
			if p := d.place(at); p.kind == gitHead {
				note(p.ref(name))
			}
		}
	}
	return s.records.write(buf)
}

// keptText reads a small file of the store.
func (s *Store) keptText(blob uint32) []byte {
	fd, err := openFileAt(s.kept, blobName(blob))
	if err != nil {
		return nil
	}
	b, _ := readAll(os.NewFile(uintptr(fd), blobName(blob)), maxRefText)
	return b
}

// looseRefs visits the refs in a directory of refs.
func (d *disk) looseRefs(at place, visit func(place)) {
	if d.place(at).kind != gitRef {
		return
	}
	e, err := d.look(at)
	if err != nil || e.kind != change.Directory {
		return
	}
	d.below(at, func(s place, e entry) {
		if e.kind != change.Directory {
			visit(s)
		}
	})
}

// below visits all that is in a directory, however deep.
func (d *disk) below(at place, visit func(place, entry)) {
	root, err := d.root(at.tree)
	if err != nil || len(at.rel) > maxPath {
		return
	}
	fd, err := openAt(root, at.rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	names, _ := sys.Names(fd)
	for _, name := range names {
		s := place{at.tree, join(at.rel, name)}
		e, err := d.look(s)
		if err != nil {
			continue
		}
		visit(s, e)
		if e.kind == change.Directory {
			d.below(s, visit)
		}
	}
}

// means is what a file of git says, however it is written down: a ref also where it is
// packed, an index without its times. It is empty for all other files, and for none.
func (d *disk) means(p gitPlace, at place) string {
	switch p.kind {
	case gitRef:
		return d.value(p, p.name)
	case gitHead:
		b, err := d.text(at, maxRefText)
		if err != nil {
			return ""
		}
		return refText(b)
	case gitPacked:
		b, err := d.text(at, maxGitText)
		if err != nil {
			return ""
		}
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	case gitIndex:
		b, err := d.text(at, maxGitText)
		if err != nil {
			return ""
		}
		x, _ := readIndex(b)
		return x.meaning
	}
	return ""
}

// value is what a ref says on the host, loose or packed.
func (d *disk) value(p gitPlace, name string) string {
	if b, err := d.text(p.ref(name), maxRefText); err == nil {
		if text := refText(b); text != "" {
			return text
		}
	}
	return d.packed(p)[name]
}

// packed are the refs that are packed on the host.
func (d *disk) packed(p gitPlace) map[string]string {
	dir := p.common()
	b, err := d.text(place{dir.tree, join(dir.rel, "packed-refs")}, maxGitText)
	if err != nil {
		return nil
	}
	return packedRefs(b)
}
