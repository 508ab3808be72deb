package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestSaveTakesNobodysPlace: another program makes the file while Save writes a first
// one. Exactly one of the two makes it, and its text stays.
func TestSaveTakesNobodysPlace(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		path := filepath.Join(dir, strconv.Itoa(i)+".toml")
		start, theirs := make(chan struct{}), make(chan error)
		go func() {
			<-start
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err == nil {
				_, err = f.WriteString("theirs")
				err = errors.Join(err, f.Close())
			}
			theirs <- err
		}()
		close(start)
		ours := Save(path, nil, []byte("ours"), true)
		won := <-theirs
		if ours != nil && !errors.Is(ours, ErrChanged) || won != nil && !errors.Is(won, os.ErrExist) {
			t.Fatal(ours, won)
		}
		want := "ours"
		if won == nil {
			want = "theirs"
		}
		if got, err := os.ReadFile(path); string(got) != want || (ours == nil) == (won == nil) {
			t.Fatalf("round %d: %q, %v; Save said %v, the other %v", i, got, err, ours, won)
		}
	}
}
