package install

import (
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// Program is the ringfence that shadows start: the one that runs now, by the name that
// PATH has for it, so that an upgrade which moves a link is followed.
func Program(path string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(self)
	if err != nil {
		return "", err
	}
	name := real
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, "ringfence")
		if r, err := filepath.EvalSymlinks(file); filepath.IsAbs(dir) && err == nil && r == real {
			if _, err := exec.LookPath(file); err == nil {
				name = file
				break
			}
		}
	}
	if os.Geteuid() == 0 {
		for _, p := range []string{name, real} {
			if err := RootsAlone(p); err != nil {
				return "", err
			}
		}
	}
	return name, nil
}

// RootsAlone refuses a program that somebody else could replace: what root makes others
// start has to be root's.
func RootsAlone(path string) error {
	for p := path; ; p = filepath.Dir(p) {
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil {
			return err
		}
		sticky := st.Mode&unix.S_ISVTX != 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR && p != path
		if st.Uid != 0 || st.Mode&0o002 != 0 && !sticky || st.Mode&0o020 != 0 && st.Gid != 0 && !sticky {
			return fault.New(fault.Refused, "install ringfence to /usr/local/bin, owned by root, and run that", "%q could be replaced by somebody else than root (%q)", path, p)
		}
		if p == "/" {
			return nil
		}
	}
}
