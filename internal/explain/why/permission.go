package why

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// The bits of a permission.
const (
	mayExecute = 1 << iota
	mayWrite
	mayRead
)

// permits says whether the user may do so by the file's own permissions, as the kernel
// judges inside: the same user and groups, without root's right to override.
func (w *World) permits(path string, st fs.FileInfo, want uint32) bool {
	if w.User.UID != 0 && os.Geteuid() == w.User.UID {
		return unix.Faccessat(unix.AT_FDCWD, path, want, unix.AT_EACCESS) == nil // lists of access included
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	mode := own.Mode
	switch {
	case int(own.Uid) == w.User.UID:
		mode >>= 6
	case int(own.Gid) == w.User.GID || slices.Contains(w.Groups, int(own.Gid)):
		mode >>= 3
	}
	return mode&want == want
}

// barred returns the first directory between a path of the host and the root of what
// shows it that cannot be passed; "" if there is none.
func (w *World) barred(path, root string) (string, fs.FileInfo) {
	for dir := filepath.Dir(path); dir != "/" && file.Within(dir, root); dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.IsDir() && !w.permits(dir, st, mayExecute) {
			return dir, st
		}
	}
	return "", nil
}

// permission is the finding that a file's own permissions are in the way.
func (w *World) permission(access, path string, st fs.FileInfo) Finding {
	f := Finding{Access: access, Verdict: Denied, By: WallPermission, Reason: "your own user may not: " + owned(path, st)}
	if w.User.UID == 0 {
		// Outside root may all the same, and so this is our doing.
		f.Ours, f.By, f.Rule, f.Source = true, WallCaps, "root inside has no capability", BuiltIn
		f.Reason = "only root's override would do, and that stays outside: " + owned(path, st)
		f.Help = "start ringfence as the user who owns it, or change its owner or mode"
		return f
	}
	f.Help = "this is not ringfence's doing: change its owner or mode (chmod, chown)"
	return f
}

// owned says whose a file is and what its mode is.
func owned(path string, st fs.FileInfo) string {
	if st == nil {
		return path
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return path
	}
	return fmt.Sprintf("%q belongs to %s and has mode %04o", path, userName(own.Uid), own.Mode&0o7777)
}

func userName(uid uint32) string {
	id := strconv.Itoa(int(uid))
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "user " + id
}
