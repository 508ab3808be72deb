package microvm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// maxCovered bounds how much a layer may hide at the start.
const maxCovered = 20000

// covered shows the source of a layer without what the layer hides at the start: a phantom
// stands over a file of secrets. In the guest only its own kernel would keep the two apart. What
// is the same above and below is there for its owner, and hides nothing.
//
// Left at risk: a secret that comes under a name which nothing covered at the start.
func covered(o plan.Op) (plan.Op, error) {
	out := plan.Op{Do: plan.DoCover, Dst: o.Dst, Src: o.Src, ID: o.ID}
	if err := nothingBelow(string(o.Src)); err != nil {
		return out, err
	}
	upper := string(o.Upper)
	err := filepath.WalkDir(upper, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == upper {
			return err
		}
		rel := p[len(upper)+1:]
		hides, err := differs(p, filepath.Join(string(o.Src), rel))
		switch {
		case err != nil || !hides:
			return err
		case len(out.Hide) == maxCovered:
			return fmt.Errorf("more than %d files are covered in %q", maxCovered, string(o.Dst))
		}
		out.Hide = append(out.Hide, plan.Raw(rel))
		if d.IsDir() {
			return fs.SkipDir // what is in it has nothing below
		}
		return nil
	})
	return out, err
}

// nothingBelow wants nothing to be mounted in a directory: that is no part of what a layer
// shows, and the kernel makes no overlay of such a one here.
func nothingBelow(dir string) error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	all, err := probe.ParseMounts(b)
	for _, m := range all {
		if m.Point != dir && file.Within(m.Point, dir) {
			return fault.New(fault.Refused, "umount "+plan.Show(m.Point)+"; or --rung native", "on rung microvm nothing may be mounted below what is shown for review: %s", plan.Show(m.Point))
		}
	}
	return err
}

// differs says whether what is above hides something of what is below.
func differs(above, below string) (bool, error) {
	var upper, lower unix.Stat_t
	err := unix.Lstat(below, &lower)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return true, nil
	}
	if err := unix.Lstat(above, &upper); err != nil {
		return false, err
	}
	kind := upper.Mode & unix.S_IFMT
	switch {
	case kind != lower.Mode&unix.S_IFMT:
		return true, nil
	case kind == unix.S_IFDIR:
		return false, alsoBelow(above)
	case kind == unix.S_IFLNK:
		a, err := os.Readlink(above)
		b, unread := os.Readlink(below)
		return unread != nil || a != b, err
	case kind != unix.S_IFREG || upper.Size != lower.Size:
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

// alsoBelow wants a directory to show what the host has in it, too. No layer begins with
// another one, and empty files could not stand for it.
func alsoBelow(dir string) error {
	var mark [1]byte
	if n, err := unix.Lgetxattr(dir, "user.overlay.opaque", mark[:]); err == nil && n == 1 && mark[0] == 'y' {
		return fmt.Errorf("%q hides a whole directory", dir)
	}
	return nil
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
