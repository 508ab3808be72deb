package review

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// maxRead bounds what is read of a file to judge or show it. It is past what
// hostexec looks at, so that hostexec says itself that a file is too large.
const maxRead = 4 << 20

// contents reads both sides of changes.
type contents struct {
	work *Work
	log  *history // nil: nothing is live
}

// old reads a file as it was before the session. nil: there was none, or it is not
// to be had.
func (c contents) old(e *Entry) []byte {
	if e.Old == nil || e.Old.Type != change.File {
		return nil
	}
	rel := e.Path
	if e.From != "" {
		rel = e.From
	}
	if e.State == Waits && e.Masked { // the session saw something else, and who reads a review sees no more
		phantom, _ := c.work.tree(e.Tree).phantomText(rel)
		return phantom
	}
	if e.State == Waits {
		return read(c.work.Layer(e.Tree).OpenOld(rel))
	}
	return read(c.log.OpenOld(e.Tree, rel))
}

// new reads a file as the session left it.
func (c contents) new(e *Entry) []byte { return c.newMost(e, maxRead) }

func (c contents) newMost(e *Entry, most int64) []byte {
	if e.New == nil || e.New.Type != change.File {
		return nil
	}
	side := c.work.Layer(e.Tree).ReadOld // the host has it
	if e.State == Waits {
		side = c.work.Layer(e.Tree).Read
	}
	return orNil(side(e.Path, most))
}

// orNil is a content, nil if it is not to be had.
func orNil(b []byte, err error) []byte {
	if err != nil {
		return nil
	}
	return b
}

// read reads at most one byte more than maxRead. An empty file is not nil.
func read(f *os.File, err error) []byte {
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	b := bytes.NewBuffer(make([]byte, 0, min(st.Size(), maxRead)+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(f, maxRead+1)); err != nil {
		return nil
	}
	return b.Bytes()
}

// is reports whether a content is that of a node, all of it.
func is(b []byte, n *change.Node) bool {
	sum := sha256.Sum256(b)
	return b != nil && n != nil && n.Hash == hex.EncodeToString(sum[:])
}
