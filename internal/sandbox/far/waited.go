package far

import (
	"io"
	"os"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// Waited is a layer that came by another way than a link. It lies beside the one that it is to
// replace.
type Waited struct{ layer }

// Take receives a layer whose place is dir, over a tree of this machine. Nothing changes there
// yet.
func Take(from io.Reader, dir, over string) (*Waited, error) {
	t := &Waited{layer{dir: dir, taken: taken{over: over}}}
	if err := file.RemoveTree(t.next()); err != nil {
		return nil, err
	}
	if err := os.Mkdir(t.next(), 0o700); err != nil {
		return nil, err
	}
	err := t.receiveAll(from)
	if err != nil {
		t.Drop()
		return nil, err
	}
	return t, nil
}

// receiveAll takes all of a stream: what ends well has ended.
func (t *Waited) receiveAll(from io.Reader) error {
	if _, err := t.receive(from, upper.Most); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, from); err != nil || n > 0 {
		if err == nil {
			err = upper.Wrong("more than a layer")
		}
		return err
	}
	return nil
}

// Place puts it in its place, and says what a person is to know: a machine may have taken away
// again what had come.
func (t *Waited) Place() (string, error) {
	t.number = 1 // what lies there had come: none of it is the launch's alone
	if err := t.replace(); err != nil {
		return "", err
	}
	return t.emptied(), nil
}

// Drop removes what lies beside the place.
func (t *Waited) Drop() { file.RemoveTree(t.next()) }
