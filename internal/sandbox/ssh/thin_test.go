package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// What nobody has used for long goes, and nothing else: not what is used just now, and no
// directory of another name.
func TestThin(t *testing.T) {
	cache := t.TempDir()
	digest := func(c string) string { return strings.Repeat(c, 64) }
	old := time.Now().Add(-keptFor - time.Hour)
	for name, stays := range map[string]bool{"store/" + digest("1"): false, "store/" + digest("2"): true, digest("3"): false, digest("4"): true, "work": true, "other": true} {
		at := filepath.Join(cache, name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "x"), nil, 0o400); err != nil {
			t.Fatal(err)
		}
		if !stays || name == "work" || name == "other" {
			os.Chtimes(at, old, old)
		}
	}
	held := filepath.Join(cache, "store", digest("5"))
	os.Mkdir(held, 0o700)
	os.Chtimes(held, old, old)
	lock, err := file.LockDir(held, unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	thin(cache)
	for name, stays := range map[string]bool{"store/" + digest("1"): false, "store/" + digest("2"): true, "store/" + digest("5"): true, digest("3"): false, digest("4"): true, "work": true, "other": true} {
		if _, err := os.Stat(filepath.Join(cache, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}
