package microvm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// maxCovered bounds how much a layer may hide at the start.
const maxCovered = 10000

// covered lists what a layer hides at the start: a phantom stands over a file of secrets. In
// the guest only its own kernel would keep the two apart. What is the same above and below is
// there for its owner, and hides nothing; of a link nothing can be read but where it leads.
func covered(o plan.Op) (out []plan.Raw, err error) {
	err = filepath.WalkDir(string(o.Upper), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		at := strings.TrimPrefix(p, string(o.Upper))
		hides, err := differs(p, string(o.Src)+at)
		if err != nil || !hides {
			return err
		}
		if len(out) == maxCovered {
			return fmt.Errorf("more than %d files are covered in %q", maxCovered, string(o.Dst))
		}
		out = append(out, o.Dst+plan.Raw(at))
		return nil
	})
	return out, err
}

// differs says whether what is above hides something of what is below.
func differs(above, below string) (bool, error) {
	var lower unix.Stat_t
	err := unix.Lstat(below, &lower)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), err == nil && lower.Mode&unix.S_IFMT == unix.S_IFLNK:
		return false, nil
	case err != nil || lower.Mode&unix.S_IFMT != unix.S_IFREG:
		return true, nil
	}
	var upper unix.Stat_t
	if err := unix.Lstat(above, &upper); err != nil {
		return false, err
	}
	if upper.Mode&unix.S_IFMT != unix.S_IFREG || upper.Size != lower.Size {
		return true, nil
	}
	a, err := os.Open(above)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.OpenFile(below, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return true, nil
	}
	defer b.Close()
	return !same(a, b), nil
}

// same compares what two files hold.
func same(a, b io.Reader) bool {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(a, x)
		m, other := io.ReadFull(b, y)
		if n != m || !bytes.Equal(x[:n], y[:m]) || (err == nil) != (other == nil) {
			return false
		}
		if err != nil {
			return true
		}
	}
}
