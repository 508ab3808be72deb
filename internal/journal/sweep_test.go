package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/fault"
)

const day = 24 * time.Hour

// shelf makes journals "000000000d" that are d days old, of which the one of day
// 8 still runs, and things that are no journals.
func shelf(t *testing.T) (dir string, now time.Time) {
	t.Helper()
	now = time.Now()
	for d := range 10 {
		id := fmt.Sprintf("000000000%d", d)
		at := now.Add(-time.Duration(d) * day)
		if d == 0 {
			dir = filepath.Join(t.TempDir(), "journal")
		}
		w := Create(dir, id)
		w.now = func() time.Time { return at }
		write(t, w, Record{Event: Gate, State: Opened})
		t.Cleanup(func() { w.Close() })
		if d != 8 {
			w.Close()
		}
		if err := os.Chtimes(filepath.Join(dir, id+suffix), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"notes.txt", "0000000000", "ABCDEFGHJK.jsonl", ".jsonl", "00000000000.jsonl", "000000000l.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, now
}

func TestList(t *testing.T) {
	if list, err := List(filepath.Join(t.TempDir(), "none")); list != nil || err != nil {
		t.Errorf("without a directory: %v, %v", list, err)
	}
	dir, now := shelf(t)
	list, err := List(dir)
	if err != nil || len(list) != 10 {
		t.Fatalf("%+v, %v", list, err)
	}
	for d, info := range list {
		at := now.Add(-time.Duration(d) * day)
		if info.Session != fmt.Sprintf("000000000%d", d) || !info.Start.Equal(at.Truncate(time.Millisecond)) ||
			!info.Mod.Equal(at) || info.Size < 100 || info.Running != (d == 8) {
			t.Errorf("day %d: %+v", d, info)
		}
	}
}

func TestSweep(t *testing.T) {
	dir, now := shelf(t)
	tests := []struct {
		olderThan time.Duration
		keep      int
		want      []string
	}{
		{30 * day, 0, nil},
		{6*day + time.Hour, 0, []string{"0000000007", "0000000009"}},
		{6*day + time.Hour, 8, []string{"0000000009"}},
		{6*day + time.Hour, 10, nil},
		{0, 7, []string{"0000000007", "0000000009"}},
		{0, 99, nil},
	}
	for _, tt := range tests {
		got, _, err := Sweep(dir, now, Retention{Age: tt.olderThan, Keep: tt.keep})
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("older than %v, keep %d: %v, %v", tt.olderThan, tt.keep, got, err)
		}
	}
	if err := Remove(dir, "0000000009"); err != nil {
		t.Error(err)
	}
	if err := Remove(dir, "0000000009"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
	if err := Remove(dir, "0000000008"); fault.KindOf(err) != fault.Refused {
		t.Errorf("removed while it runs: %v", err)
	}
	for _, name := range []string{"", "..", "notes.txt", "../0000000001", "ABCDEFGHJK", "000000000l", "0000000001.jsonl"} {
		if err := Remove(dir, name); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 24 {
		t.Errorf("%d left, %v", len(left), err)
	}
}

// TestRemovedWhileMade: a file that is removed between its making and its lock
// takes no record with it. Whatever Write says is written stays.
func TestRemovedWhileMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	write(t, Create(dir, "zzzzzzzzzz"), Record{})
	stop := make(chan struct{})
	removed := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if Remove(dir, session) == nil {
					removed++
				}
			}
		}
	})
	for range 100 {
		w := Create(dir, session)
		err := w.Write(Record{Event: Gate})
		if b, _ := os.ReadFile(filepath.Join(dir, session+suffix)); err == nil && len(b) == 0 {
			t.Error("a record that was written is gone")
		}
		w.Close()
		for !errors.Is(Remove(dir, session), fs.ErrNotExist) {
			runtime.Gosched()
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d removed", removed)
}
