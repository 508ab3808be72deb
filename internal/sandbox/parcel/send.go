package parcel

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// ErrNeeds is an answer that is none.
var ErrNeeds = errors.New("it asks for what is not in the parcel")

// Send writes the contents that the other machine has not, by its own word: bit n of needs is
// that of the n-th. It says how many bytes they were.
func (c *Parcel) Send(w io.Writer, needs []byte) (sent int64, err error) {
	all, err := c.contents()
	if err != nil {
		return 0, err
	}
	if len(needs) != (len(all)+7)/8 {
		return 0, ErrNeeds
	}
	if over := len(all) % 8; over > 0 && needs[len(needs)-1]>>over != 0 {
		return 0, ErrNeeds
	}
	for i, one := range all {
		if needs[i/8]>>(i%8)&1 == 0 {
			continue
		}
		if err := c.sendOne(w, one); err != nil {
			return sent, err
		}
		sent += one.size
	}
	return sent, nil
}

// inMemory is how much of a content is held in memory; more goes to a file without a name.
const inMemory = 1 << 20

// sendOne sends one content. It is copied and compared before the first byte leaves: what
// changed since it was listed would be another file than was judged.
func (c *Parcel) sendOne(w io.Writer, one content) error {
	from := c.where[string(one.sum[:])]
	src := string(c.sources[from.tree].op.Src)
	root, err := c.sources[from.tree].open()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	f, err := openIn(root, from.path)
	if err != nil {
		return err
	}
	defer f.Close()
	held, err := c.hold(f, one)
	if err != nil {
		return fmt.Errorf("%s: %w", plan.Show(src+"/"+from.path), err)
	}
	defer held.Close()
	_, err = io.CopyN(w, held, one.size)
	return err
}

// hold copies a content to where nobody changes it, if it is the one that was listed.
func (c *Parcel) hold(f io.Reader, one content) (io.ReadCloser, error) {
	sum := sha256.New()
	var to io.Writer
	var held io.ReadCloser
	var rewind func() error
	if one.size <= inMemory {
		b := &bytes.Buffer{}
		to, held, rewind = b, io.NopCloser(b), func() error { return nil }
	} else {
		tmp, err := os.CreateTemp(c.Dir, "copy-") // not every file system has files without a name
		if err != nil {
			return nil, fmt.Errorf("a place for a copy: %w", err)
		}
		os.Remove(tmp.Name())
		to, held, rewind = tmp, tmp, func() error { _, err := tmp.Seek(0, io.SeekStart); return err }
	}
	_, err := io.CopyN(io.MultiWriter(to, sum), f, one.size)
	if errors.Is(err, io.EOF) || err == nil && [sha256.Size]byte(sum.Sum(nil)) != one.sum {
		err = errors.New("changed while it was sent")
	}
	if err == nil {
		err = rewind()
	}
	if err != nil {
		held.Close()
		return nil, err
	}
	return held, nil
}
