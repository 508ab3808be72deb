package ssh

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/envelope"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// note is what this machine keeps of a session on another one, in the directory of the
// session: where it is, and how to get what it changed. It is there as long as something of it
// may be there that is not here, so that it can be fetched if the supervisor is killed.
type note struct {
	Host    string   `json:"host"`
	Session string   `json:"session"`
	Secret  []byte   `json:"secret"` // of the carrier
	Key     []byte   `json:"key"`    // the private one, for what was sealed
	Layers  [][]byte `json:"layers"` // where they lie, below the directory of the session
	Over    [][]byte `json:"over"`   // the trees here that they lie over
}

const maxNote = 1 << 20

// newNote makes one, and the public key of it.
func newNote(host string, b far.Begin) (*note, []byte, error) {
	key, err := envelope.NewKey()
	if err != nil {
		return nil, nil, err
	}
	n := &note{Host: host, Session: b.Plan.Session, Secret: make([]byte, secretSize)}
	rand.Read(n.Secret)
	if n.Key, err = key.Bytes(); err != nil {
		return nil, nil, err
	}
	for _, o := range b.Plan.Ops {
		if o.Do != plan.DoLayer {
			continue
		}
		rel, err := filepath.Rel(b.Dir, string(o.Upper))
		if err != nil || !filepath.IsLocal(rel) {
			return nil, nil, fmt.Errorf("the layer %s is not the session's own", plan.Show(string(o.Upper)))
		}
		n.Layers, n.Over = append(n.Layers, []byte(rel)), append(n.Over, []byte(o.Src))
	}
	return n, key.Public(), nil
}

// over is the tree that a layer lies over; "": it is not known.
func (n *note) over(layer int) string {
	if layer >= len(n.Over) {
		return ""
	}
	return string(n.Over[layer])
}

func (n *note) write(dir string) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return file.Replace(filepath.Join(dir, state.Elsewhere), b, 0o600)
}

// readNote reads the note of a session.
func readNote(dir string) (*note, error) {
	b, err := file.ReadOwn(filepath.Join(dir, state.Elsewhere), maxNote)
	if err != nil {
		return nil, err
	}
	n := new(note)
	if err := json.Unmarshal(b, n); err != nil {
		return nil, fmt.Errorf("%s: %w", state.Elsewhere, err)
	}
	for _, l := range n.Layers {
		if !filepath.IsLocal(string(l)) {
			return nil, fmt.Errorf("%s: a layer of somebody else", state.Elsewhere)
		}
	}
	return n, nil
}
