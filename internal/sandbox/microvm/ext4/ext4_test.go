package ext4

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFormat: the checker of the file system's own authors finds nothing to complain of but
// that there is no lost+found, which only it would need.
func TestFormat(t *testing.T) {
	check, err := exec.LookPath("e2fsck")
	if err != nil {
		if check = "/sbin/e2fsck"; exec.Command(check, "-V").Run() != nil {
			t.Fatalf("%v; as root: apt-get install e2fsprogs", err)
		}
	}
	for _, size := range []int64{Least, 2 * Least, 10 * Least, Most} {
		at := filepath.Join(t.TempDir(), "disk")
		f, err := os.Create(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(size), Format(f, size), f.Close()); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(check, "-f", "-n", at).CombinedOutput(); err != nil {
			t.Errorf("%d: %v: %s", size, err, out)
		}
	}
	for _, size := range []int64{0, -1, Least - 1, Least + 1, Most + Least} {
		if err := Format(nil, size); !errors.Is(err, ErrSize) {
			t.Errorf("%d: %v", size, err)
		}
	}
}
