package review

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// stored makes the work of a session that ended, with so many bytes for undo.
func storedWork(t *testing.T, state, id string, began time.Time, bytes int, more func(*Work)) *Work {
	t.Helper()
	w := New(state, id)
	w.Started = began
	w.Add(Tree{Path: t.TempDir(), View: Live})
	if more != nil {
		more(w)
	}
	if err := w.Create(); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(w.Undo(), "kept")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(kept, "1"), make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func end(t *testing.T, w *Work) {
	t.Helper()
	if err := w.End(w.Started.Add(time.Minute), true); err != nil {
		t.Fatal(err)
	}
}

// TestExcess: the oldest goes first; who runs, and where something waits, stays.
func TestExcess(t *testing.T) {
	state, day := t.TempDir(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(n int) time.Time { return day.AddDate(0, 0, n) }
	waits := storedWork(t, state, "waits", at(0), 1000, nil)
	if err := os.WriteFile(filepath.Join(waits.Upper(0), "held"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	end(t, waits)
	runs := storedWork(t, state, "runs", at(1), 1000, nil)
	defer runtime.KeepAlive(runs) // its lock is let go when nobody knows it
	stays := storedWork(t, state, "stays", at(2), 1000, func(w *Work) { w.Stays = true })
	end(t, stays)
	old := storedWork(t, state, "old", at(3), 1000, nil)
	end(t, old)
	end(t, storedWork(t, state, "new", at(4), 1000, nil))

	for _, c := range []struct {
		total, left int64
		want        string
	}{{5000, 5000, ""}, {4999, 4000, "stays "}, {3000, 3000, "stays old "}, {0, 2000, "stays old new "}} {
		for range 2 { // measured, and remembered
			over, left, err := Excess(state, c.total)
			got := ""
			for _, o := range over {
				got += o.Work.ID + " "
			}
			if got != c.want || left != c.left || err != nil {
				t.Errorf("of %d: %q go and %d is left, %v; want %q and %d", c.total, got, left, err, c.want, c.left)
			}
		}
	}
	for _, id := range []string{"waits", "runs"} {
		w, err := Open(state, id)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.DropUndo(); err == nil {
			t.Errorf("what %s keeps was dropped", id)
		}
	}
	for _, w := range []*Work{stays, old} {
		again, err := Open(state, w.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.DropUndo(); err != nil {
			t.Errorf("%s: %v", w.ID, err)
		}
		if _, err := os.Stat(w.Undo()); err == nil {
			t.Errorf("%s keeps its store", w.ID)
		}
	}
	for id, want := range map[string]bool{"stays": true, "old": true, "new": false, "waits": false} {
		w, err := Open(state, id)
		if err != nil { // an older one would be taken for the latest
			t.Fatalf("%s is gone: %v", id, err)
		}
		if w.Dropped() != want {
			t.Errorf("%s: dropped is %v, want %v", id, w.Dropped(), want)
		}
	}
	// What came since is measured anew.
	if err := os.WriteFile(filepath.Join(waits.Undo(), "kept", "2"), make([]byte, 500), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, left, err := Excess(state, 1<<40); left != 3500 || err != nil {
		t.Errorf("%d are left, %v", left, err)
	}
}
