package review

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestOfferAtOnce: sessions that end at the same time all get their remote.
func TestOfferAtOnce(t *testing.T) {
	source := t.TempDir()
	if _, err := (&Work{}).git(source, "init", "-q"); err != nil {
		t.Fatal(err)
	}
	const many = 12
	var group sync.WaitGroup
	begin := make(chan struct{})
	for i := range many {
		w := &Work{ID: fmt.Sprintf("session%d", i), Source: source, folder: folder{t.TempDir()}}
		if err := os.MkdirAll(filepath.Dir(w.CloneDir()), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := w.git(source, "clone", "-q", source, w.CloneDir()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.git(w.CloneDir(), "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "--allow-empty", "-m", "x"); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			<-begin
			if err := w.OfferClone(); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	group.Wait()
	out, err := (&Work{folder: folder{t.TempDir()}}).git(source, "remote")
	if got := len(strings.Fields(out)); err != nil || got != many {
		t.Errorf("%d remotes: %v", got, err)
	}
}
