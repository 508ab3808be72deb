package parcel

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
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

// sendOne sends one content. It is compared once more: what changed since it was listed
// would be another file than was judged.
func (c *Parcel) sendOne(w io.Writer, one content) error {
	from := c.where[string(one.sum[:])]
	src := string(c.sources[from.tree].op.Src)
	root, err := sys.OpenSource(src)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	f, err := openIn(root, from.path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.CopyN(w, io.TeeReader(f, sum), one.size)
	if errors.Is(err, io.EOF) || err == nil && [sha256.Size]byte(sum.Sum(nil)) != one.sum {
		err = fmt.Errorf("%s changed while it was sent", plan.Show(src+"/"+from.path))
	}
	return err
}
