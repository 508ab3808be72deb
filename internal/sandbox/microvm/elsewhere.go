package microvm

import (
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
// was judged, its data, and its parts. Nothing else of where it lies is shown, so it must find its
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
		if d, err := os.Lstat(real); err != nil || !d.IsDir() {
			return nil, refuse("there is no directory " + dir)
		}
		out = append(out, plan.Op{Do: plan.DoBind, Dst: plan.Raw(dir), Src: plan.Raw(real)})
	}
	return out, nil
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
