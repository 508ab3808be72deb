package review

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// What stands for masked files is kept beside the record, so that what the agent made of
// it can be told from it. It is no secret. What is too long is not kept, and not merged.
const (
	maxPhantom  = 64 << 10
	maxPhantoms = 8 << 20
)

func (f folder) phantomFile() string { return filepath.Join(f.dir, "phantoms.json") }

// notePhantoms writes them down, with those that are there already.
func (f folder) notePhantoms(n int, phantoms map[string][]byte) error {
	all := f.phantomTexts()
	for rel, data := range phantoms {
		if len(data) <= maxPhantom {
			all[phantomKey(n, filepath.Clean(rel))] = data
		}
	}
	b, err := json.Marshal(all)
	if err != nil || len(b) > maxPhantoms {
		return err
	}
	return os.WriteFile(f.phantomFile(), b, 0o600)
}

func phantomKey(n int, rel string) string { return strconv.Itoa(n) + " " + strconv.QuoteToASCII(rel) }

func (f folder) phantomTexts() map[string][]byte {
	all := map[string][]byte{}
	st, err := os.Stat(f.phantomFile())
	if err != nil || st.Size() > maxPhantoms {
		return all
	}
	b, err := os.ReadFile(f.phantomFile())
	if err != nil || json.Unmarshal(b, &all) != nil || all == nil {
		return map[string][]byte{}
	}
	return all
}

// phantomText is what stood for a masked file, by the digest that the record has.
func (t treeWork) phantomText(rel string) ([]byte, bool) {
	data, ok := t.work.phantomTexts()[phantomKey(t.n, rel)]
	sum := sha256.Sum256(data)
	return data, ok && t.Phantoms[rel] == hex.EncodeToString(sum[:])
}

// merged is what a changed file of secrets would become on the host.
func (t treeWork) merged(c change.Change) (*phantom.Merged, error) {
	switch {
	case c.New == nil:
		return nil, errors.New("it was deleted inside, and stays")
	case c.From != "" || c.Old == nil || c.Old.Type != change.File || c.New.Type != change.File:
		return nil, errors.New("it is another kind of file by now")
	}
	shown, ok := t.phantomText(c.Path)
	if !ok {
		return nil, errors.New("what stood for it is not known any more")
	}
	l := t.layer()
	real, changed := read(l.OpenOld(c.Path)), read(l.Open(c.Path))
	if real == nil || changed == nil {
		return nil, errors.New("it cannot be read")
	}
	return phantom.Merge(c.Path, real, shown, changed)
}

// mergeText says what apply would do with it.
func (t treeWork) mergeText(c change.Change) string {
	m, err := t.merged(c)
	if err != nil {
		return "masked inside: never written back: " + err.Error()
	}
	var parts []string
	for _, p := range []struct {
		word string
		keys []string
	}{{"new", m.New}, {"changed", m.Changed}, {"deleted inside, and stay", m.Stay}} {
		if len(p.keys) > 0 {
			parts = append(parts, p.word+": "+strings.Join(p.keys, ", "))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to bring over"}
	}
	return "masked inside; apply keeps the real values and merges by key; " + strings.Join(parts, "; ")
}

// unmask puts the merged file into the layer, from where it is brought over like any
// other. Nobody is left inside who could see it there. Done twice it is the same.
func (t treeWork) unmask(c change.Change) (change.Change, error) {
	m, err := t.merged(c)
	if err != nil {
		return c, err
	}
	upper, err := sys.OpenSource(t.work.Upper(t.n))
	if err != nil {
		return c, err
	}
	defer unix.Close(upper)
	dir, err := sys.OpenBeneath(upper, dirOf(c.Path))
	if err != nil {
		return c, err
	}
	defer unix.Close(dir)
	if err := file.ReplaceAt(dir, filepath.Base(c.Path), m.Data, os.FileMode(c.Old.Mode&0o777)); err != nil {
		return c, fmt.Errorf("merge: %w", err)
	}
	sum := sha256.Sum256(m.Data)
	c.New = &change.Node{Type: change.File, Mode: c.Old.Mode, Size: int64(len(m.Data)), Hash: hex.EncodeToString(sum[:])}
	return c, nil
}

// holdsPhantom reports whether a file that is to be brought over has values in it that
// stand for real ones.
func (t treeWork) holdsPhantom(c change.Change) bool {
	if c.New == nil || c.New.Type != change.File || c.New.Size > 1<<20 {
		return false
	}
	return phantom.IsPhantom(read(t.layer().Open(c.Path)))
}
