package microvm

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/program"
)

// dataAt is where an emulator has its firmware, beside the directory of its program.
const dataAt = "share/qemu"

// elsewhere is what a jail must show of an emulator that is not the system's: the very file that
// was judged, its data, and its parts, each of whose files is judged too. Nothing else of where it lies is shown, so it must find its
// libraries in the system.
func elsewhere(q *program.File) ([]plan.Op, error) {
	within := func(dirs ...string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return file.Within(q.Path, dir) })
	}
	for _, o := range system() {
		if o.Do == plan.DoBind && within(string(o.Dst)) {
			return nil, nil
		}
	}
	refuse := func(why string) error {
		return fault.New(fault.Refused, "put it at PREFIX/bin, with its firmware in PREFIX/"+dataAt+" and its libraries among the system's; or "+qemuHint, "the emulator %q cannot be shown to itself: %s", q.Path, why)
	}
	prefix := filepath.Dir(filepath.Dir(q.Path))
	switch {
	case within(shareAt, filepath.Dir(kernelAt), "/dev", "/proc", plan.Own):
		return nil, refuse("its jail has something else there")
	case filepath.Base(filepath.Dir(q.Path)) != "bin":
		return nil, refuse("its directory is not called bin")
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(q.File.Fd()), &st); err != nil {
		return nil, err
	}
	out := []plan.Op{{Do: plan.DoBind, Dst: plan.Raw(q.Path), Src: plan.Raw(q.Path), ID: &plan.Identity{Dev: st.Dev, Ino: st.Ino}}}
	for _, dir := range append([]string{filepath.Join(prefix, dataAt)}, partsOf(prefix)...) {
		real, err := sys.Owned(dir)
		if err != nil {
			return nil, refuse(err.Error())
		}
		if err := unix.Lstat(real, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return nil, refuse("there is no directory " + dir)
		}
		if err := trusted(real); err != nil {
			return nil, refuse(err.Error())
		}
		out = append(out, plan.Op{Do: plan.DoBind, Dst: plan.Raw(dir), Src: plan.Raw(real), ID: &plan.Identity{Dev: st.Dev, Ino: st.Ino}})
	}
	return out, nil
}

// maxParts bounds how many files an emulator may have beside it. qemu's own are some hundred.
const maxParts = 10000

// trusted wants a directory, and each name in it, to be root's or ours, and nobody else to write
// there: firmware runs in the guest before our kernel does, and parts run in the emulator. Then
// nobody else can change it after this look either. What a link leads to is in the jail as well,
// or it is not there.
func trusted(dir string) error {
	seen := 0
	return filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(p, &st)
		}
		kind := st.Mode & unix.S_IFMT
		switch seen++; {
		case err != nil:
			return err
		case seen > maxParts:
			return fmt.Errorf("there are more than %d files in %q", maxParts, dir)
		case kind != unix.S_IFREG && kind != unix.S_IFDIR && kind != unix.S_IFLNK:
			return fmt.Errorf("%q is no file", p)
		case kind != unix.S_IFLNK && st.Mode&0o022 != 0:
			return fmt.Errorf("others may write to %q", p)
		case st.Uid != 0 && int(st.Uid) != os.Geteuid():
			return fmt.Errorf("%q belongs to user %d", p, st.Uid)
		}
		return nil
	})
}

// partsOf are where an emulator that is built of parts has them: as for the system's, in a directory
// of its own name among libraries.
func partsOf(prefix string) (out []string) {
	for _, lib := range []string{"lib/qemu", "lib64/qemu", "lib/x86_64-linux-gnu/qemu"} {
		dir := filepath.Join(prefix, lib)
		if _, err := os.Lstat(dir); err == nil {
			out = append(out, dir)
		}
	}
	return out
}
