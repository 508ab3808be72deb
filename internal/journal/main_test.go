package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestMain plays one scene when the test binary was started again for a world of
// its own: a file size limit, a disk of 64 KiB.
func TestMain(m *testing.M) {
	act := os.Getenv("JOURNAL_TEST_ACT")
	if act == "" {
		os.Exit(m.Run())
	}
	if err := scenes[act](os.Getenv("JOURNAL_TEST_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const session = "0123456789"

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123_456_789, time.FixedZone("", 3600))

// create returns a writer with a clock that stands still.
func create(t testing.TB, id string) (w *Writer, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state", "journal")
	w = Create(dir, id)
	w.now = func() time.Time { return noon }
	t.Cleanup(func() { w.Close() })
	return w, dir
}

func write(t testing.TB, w *Writer, r Record) {
	t.Helper()
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, dir, id string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, id+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// all reads a journal to its end.
func all(t testing.TB, dir, id string) (records []Record, bad []*BadLine) {
	t.Helper()
	r, err := Open(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return rest(t, r)
}
