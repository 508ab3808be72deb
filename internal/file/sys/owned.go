package sys

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Foreign says which part of a path somebody else decides about.
type Foreign struct {
	At      string // the part, without links
	UID     uint32 // whose it is
	Open    bool   // it is ours or the system's, but everybody may change names in it
	Missing bool   // nothing is there, and everybody may make it
}

func (f *Foreign) Error() string {
	switch {
	case f.Missing:
		return fmt.Sprintf("%q does not exist, and everybody may make it", f.At)
	case f.Open:
		return fmt.Sprintf("everybody may change %q", f.At)
	}
	return fmt.Sprintf("%q belongs to user %d, and this is user %d", f.At, f.UID, os.Geteuid())
}

// Hint is the command that helps.
func (f *Foreign) Hint() string {
	switch {
	case f.Missing:
		return fmt.Sprintf("mkdir -m 700 %q", f.At)
	case f.Open:
		return fmt.Sprintf("chmod o-w %q", f.At)
	case os.Geteuid() == 0:
		return "as root: sudo -H ringfence …; or run it as that user"
	}
	return "set HOME to a directory of your own"
}

// The kernel follows as many.
const maxLinks = 40

// Owned walks path from the root, one component at a time, as the kernel would. Each
// directory and each link on the way, and what stands at the end, must belong to us or
// to the system: whoever else owns one of them chooses what is read and where it is
// written. What is missing may be made by us, if nobody else can make it first.
//
// The answer stays true: only we and the system can change what was looked at. Of a
// directory that a group may change it does not hold for the members of that group.
// The path that is returned has no links.
func Owned(path string) (string, error) { return OwnedBy(path, nil) }

// OwnedBy is Owned, and asks of each directory and each link on the way, and of the end,
// whether it may be passed. Each is named by its path without links, its own name aside.
func OwnedBy(path string, pass func(string) error) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q is not an absolute path", path)
	}
	w := ownWalk{path: path, left: parts(path), pass: pass}
	if err := w.start(); err != nil {
		return "", err
	}
	defer func() { unix.Close(w.fd) }()
	for len(w.left) > 0 {
		name := w.left[0]
		w.left = w.left[1:]
		missing, err := w.step(name)
		if err != nil {
			return "", err
		}
		if missing {
			return "/" + filepath.Join(append(append(w.at, name), w.left...)...), nil
		}
	}
	return "/" + filepath.Join(w.at...), nil
}

type ownWalk struct {
	path   string
	left   []string
	at     []string // names that lead to fd, without links
	fd     int
	system uint32 // who owns the root of all
	sticky bool   // everybody may make names in fd, and change only his own
	links  int
	pass   func(string) error // may be nil
}

func (w *ownWalk) start() error {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	w.fd = fd
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return err
	}
	// In a user namespace the system's own directories may belong to nobody that is known.
	w.system = st.Uid
	return nil
}

// step goes into name, if something stands there.
func (w *ownWalk) step(name string) (missing bool, err error) {
	if name == ".." {
		return false, w.up()
	}
	fd, err := unix.Openat(w.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	where := "/" + strings.Join(append(w.at[:len(w.at):len(w.at)], name), "/")
	if w.pass != nil {
		if err := w.pass(where); err != nil {
			if fd >= 0 {
				unix.Close(fd)
			}
			return false, err
		}
	}
	if err == unix.ENOENT && w.sticky {
		return false, &Foreign{At: where, Missing: true}
	}
	if err == unix.ENOENT {
		return true, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "open", Path: where, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return false, &os.PathError{Op: "stat", Path: where, Err: err}
	}
	if int(st.Uid) != os.Geteuid() && st.Uid != 0 && st.Uid != w.system {
		unix.Close(fd)
		return false, &Foreign{At: where, UID: st.Uid}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		defer unix.Close(fd)
		return false, w.follow(fd, where)
	}
	w.sticky = st.Mode&unix.S_ISVTX != 0 && st.Mode&0o002 != 0
	if st.Mode&0o002 != 0 && !w.sticky {
		unix.Close(fd)
		return false, &Foreign{At: where, UID: st.Uid, Open: true}
	}
	unix.Close(w.fd)
	w.fd, w.at = fd, append(w.at, name)
	return false, nil
}

// up goes to the directory above. It was looked at on the way down.
func (w *ownWalk) up() error {
	fd, err := unix.Openat(w.fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: w.path, Err: err}
	}
	unix.Close(w.fd)
	w.fd, w.at, w.sticky = fd, w.at[:max(len(w.at)-1, 0)], false
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil {
		w.sticky = st.Mode&unix.S_ISVTX != 0 && st.Mode&0o002 != 0
	}
	return nil
}

func (w *ownWalk) follow(fd int, where string) error {
	if w.links++; w.links > maxLinks {
		return &os.PathError{Op: "open", Path: w.path, Err: unix.ELOOP}
	}
	to, err := ReadLink(fd, "")
	if err != nil {
		return &os.PathError{Op: "readlink", Path: where, Err: err}
	}
	w.left = append(parts(to), w.left...)
	if !strings.HasPrefix(to, "/") {
		return nil
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	unix.Close(w.fd)
	w.fd, w.at, w.sticky = root, nil, false
	return nil
}

// parts are the components of a path, ".." among them: after a link it is not where
// the text says.
func parts(path string) []string {
	var out []string
	for _, p := range strings.Split(path, "/") {
		if p != "" && p != "." {
			out = append(out, p)
		}
	}
	return out
}
