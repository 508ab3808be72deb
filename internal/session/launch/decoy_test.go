package launch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSweepDecoys: what a killed launch left goes. What a session still has stays, and so
// does everything where nobody can say which sessions there are.
func TestSweepDecoys(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{scratchDecoys + "gone", scratchDecoys + "lives", "journal"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (out []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	sweepDecoys(dir, func() ([]string, error) { return nil, errors.New("nobody knows") })
	if len(left()) != 3 {
		t.Errorf("left %q", left())
	}
	sweepDecoys(dir, func() ([]string, error) { return []string{"lives"}, nil })
	if got := left(); !slices.Equal(got, []string{scratchDecoys + "lives", "journal"}) {
		t.Errorf("left %q", got)
	}
}

// TestLureTellsOnce: a decoy is told of when it is read first. A session without decoys has none to tell of.
func TestLureTellsOnce(t *testing.T) {
	l := &Lure{}
	if !l.WasRead("a") || l.WasRead("a") || !l.WasRead("b") || !slices.Equal(l.ReadSoFar(), []string{"a", "b"}) {
		t.Errorf("read %q", l.ReadSoFar())
	}
	var none *Lure
	if none.ReadSoFar() != nil || none.Bare() != nil {
		t.Error("there are none")
	}
}
