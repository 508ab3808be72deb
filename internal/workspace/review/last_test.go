package review

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestPowerCut: a record that was not made to last may be empty after a power cut. Its session
// counts as never begun, and is swept.
func TestPowerCut(t *testing.T) {
	h := newWorld(t, Live, "true")
	must(t, h.Last())
	if w, err := Open(h.state, h.ID); err != nil || w.Project != h.root {
		t.Errorf("the record: %+v, %v", w, err)
	}
	must(t, os.Truncate(filepath.Join(h.Dir(), workFile), 0))
	must(t, h.store.Close())
	must(t, h.lock.Close())
	must(t, Sweep(h.state))
	if _, err := os.Lstat(h.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was not swept: %v", err)
	}
	must(t, h.Last()) // of a session that is over
}

// TestDiskOfTheKilled: the disk of a machine that was killed goes, also where work stays.
func TestDiskOfTheKilled(t *testing.T) {
	h := newWorld(t, Live, "true")
	h.Stays = true
	must(t, h.Work.save())
	disk := filepath.Join(h.Dir(), "disk-1")
	must(t, os.WriteFile(disk, nil, 0o600))
	must(t, h.store.Close())
	must(t, h.lock.Close())
	must(t, Sweep(h.state))
	if _, err := os.Lstat(h.Dir()); err != nil {
		t.Errorf("the work: %v", err)
	}
	if _, err := os.Lstat(disk); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the disk: %v", err)
	}
}
