package microvm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// maxCovered bounds how much a layer may hide at the start. The review makes up to 20000 files ready.
const maxCovered = 40000

// covered shows the source of a layer without what the layer has at the start: a phantom stands
// over a file of secrets. In the guest only its own kernel would keep the two apart. Every name
// of it is hidden, also one that the host has not just now, as between the two steps of a checkout,
// or has with the same bytes: nobody misses below what is above.
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
		if d.IsDir() && !hidesFile(filepath.Join(string(o.Src), rel)) {
			return alsoBelow(p)
		}
		if len(out.Hide) == maxCovered {
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

// hidesFile says whether a directory hides something of the host that is none, or that nobody
// knows.
func hidesFile(below string) bool {
	var st unix.Stat_t
	err := unix.Lstat(below, &st)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return false
	}
	return err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR
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

// alsoBelow wants a directory to show what the host has in it, too. No layer begins with
// another one, and empty files could not stand for it.
func alsoBelow(dir string) error {
	var mark [1]byte
	if n, err := unix.Lgetxattr(dir, "user.overlay.opaque", mark[:]); err == nil && n == 1 && mark[0] == 'y' {
		return fmt.Errorf("%q hides a whole directory", dir)
	}
	return nil
}
