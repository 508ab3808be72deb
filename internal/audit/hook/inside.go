package hook

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// BarePath is the file by which an administrator lets agents run without a sandbox.
const BarePath = "/etc/ringfence/allow-bare"

// Inside reports whether this is the inside of a sandbox: its note lies on a file
// system that cannot be written, at the root, where outside only the administrator
// could put it, and the walls that every process inside has are up. Whoever can make
// namespaces can build something that looks the same; it is their own agent.
func Inside(note string) bool {
	var st unix.Stat_t
	if err := unix.Lstat(note, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	var fsys unix.Statfs_t
	if err := unix.Statfs(note, &fsys); err != nil || fsys.Flags&unix.ST_RDONLY == 0 {
		return false
	}
	privs, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) // gVisor's status does not tell
	if err != nil || privs != 1 {
		return false
	}
	status, err := os.ReadFile("/proc/self/status")
	return err == nil && bytes.Contains(status, []byte("\nSeccomp:\t2\n"))
}

// Bare reports whether the file is there that lets agents run without a sandbox. It
// counts only if nobody but root could have made it.
func Bare(path string) (bool, error) {
	dir := path[:len(path)-len("/allow-bare")]
	for _, p := range []string{dir, path} {
		var st unix.Stat_t
		err := unix.Lstat(p, &st)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if kind := st.Mode & unix.S_IFMT; p == dir && kind != unix.S_IFDIR || p == path && kind != unix.S_IFREG || st.Uid != 0 || st.Mode&0o022 != 0 {
			return false, errors.New(p + " is not root's alone, and does not count")
		}
	}
	return true, nil
}
