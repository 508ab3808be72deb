package keeper

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// place is where a path of the caller leads: a name in a directory. Descriptors are
// of the sandbox's own mounts.
type place struct {
	parent int    // O_PATH
	name   string // "" for the root of a tree: it has no parent there
	tree   int    // -1: not in a tree
	dir    string // the directory's path relative to the tree
	slash  bool   // the path ended in a slash
}

func (s place) rel() string { return join(s.dir, s.name) }

const maxLinks = 40

// start opens where a path begins for the caller.
func (r *request) start(dirfd int, p string) (int, error) {
	if strings.HasPrefix(p, "/") {
		return r.root, nil
	}
	name := strconv.Itoa(int(r.call.PID)) + "/cwd"
	if dirfd != unix.AT_FDCWD {
		name = strconv.Itoa(int(r.call.PID)) + "/fd/" + strconv.Itoa(dirfd)
	}
	fd, err := unix.Openat(r.proc, name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, errContinue // EBADF and the like are the kernel's to say
	}
	return r.own(fd), nil
}

// resolve finds where a path leads as the caller would: with its root, its working
// directory and its mounts. Whatever it cannot tell is left to the kernel.
func (r *request) resolve(dirfd int, p string, follow bool) (place, error) {
	if p == "" {
		return place{}, errContinue
	}
	at, err := r.start(dirfd, p)
	if err != nil {
		return place{}, err
	}
	for links := 0; links < maxLinks; links++ {
		if link, ok := r.descriptorLink(p); ok {
			p, at = link, r.root
		}
		s, err := r.lastStep(at, p)
		if err != nil || s.name == "" || !follow && !s.slash {
			return s, err
		}
		target, err := sys.ReadLink(s.parent, s.name)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			return s, nil
		}
		if err != nil {
			return place{}, errContinue
		}
		if at = s.parent; strings.HasPrefix(target, "/") {
			at = r.root
		}
		p = target
	}
	return place{}, errContinue
}

// lastStep opens the directory of the last component.
func (r *request) lastStep(at int, p string) (place, error) {
	trimmed := strings.TrimRight(p, "/")
	dir, name := "", trimmed
	if i := strings.LastIndexByte(trimmed, '/'); i >= 0 {
		dir, name = trimmed[:i+1], trimmed[i+1:]
	}
	if name == "" || name == "." || name == ".." {
		return r.directory(at, trimmed)
	}
	parent, err := r.enter(at, dir)
	if err != nil {
		return place{}, err
	}
	s := place{parent: parent, name: name, slash: trimmed != p}
	s.tree, s.dir, err = r.where(parent)
	return s, err
}

// directory is for a path that ends in a dot or in nothing: the name is the one by
// which its parent knows it.
func (r *request) directory(at int, p string) (place, error) {
	fd, err := r.enter(at, p)
	if err != nil {
		return place{}, err
	}
	tree, rel, err := r.where(fd)
	if err != nil || tree < 0 || rel == "" {
		return place{parent: fd, tree: tree}, err
	}
	up, err := unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return place{}, errContinue
	}
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	return place{parent: r.own(up), name: name, tree: tree, dir: parentOf(rel)}, nil
}

// enter opens the directory dir below at. In one step where no link is in the way.
func (r *request) enter(at int, dir string) (int, error) {
	rel := strings.TrimLeft(dir, "/")
	if rel == "" {
		rel = "."
	}
	fd, err := unix.Openat2(at, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	switch {
	case err == nil:
		return r.own(fd), nil
	case errors.Is(err, unix.ENOENT):
		// The kernel would look again. If somebody made the directory meanwhile, it would
		// find the read-only mount, and say so to who was only too early.
		return -1, unix.ENOENT
	case !errors.Is(err, unix.ELOOP):
		return -1, errContinue
	}
	return r.stepwise(at, rel)
}

// stepwise follows links by itself: the kernel would follow absolute ones from our
// root and not from the caller's. Of the way it keeps no more than where it is: links
// in links lead through tens of thousands of directories, and whoever has no
// descriptor left masks no file.
func (r *request) stepwise(at int, rel string) (int, error) {
	todo := strings.Split(rel, "/")
	here := -1 // ours to close; -1 as long as at is the caller's
	leave := func(to int) {
		if here >= 0 {
			unix.Close(here)
		}
		here = to
	}
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			leave(-1)
			return -1, errContinue
		}
		target, err := sys.ReadLink(fd, "")
		if err != nil {
			leave(fd)
			at = fd
			continue
		}
		unix.Close(fd)
		if links++; links > maxLinks {
			leave(-1)
			return -1, errContinue
		}
		if strings.HasPrefix(target, "/") {
			leave(-1)
			at = r.root
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	if here >= 0 {
		r.own(here)
	}
	return at, nil
}

// where tells the tree of a directory from the path by which the sandbox's mounts
// know it.
func (r *request) where(dir int) (tree int, rel string, err error) {
	path, err := sys.ReadLink(unix.AT_FDCWD, sys.ByDescriptor(dir))
	if err != nil {
		return -1, "", errContinue
	}
	tree, rel = r.treeOf(path)
	return tree, rel, nil
}

// descriptorLink resolves the names by which a process reopens a descriptor of its
// own, as `echo >/dev/stderr` does: they mean the caller's and not ours.
func (r *request) descriptorLink(p string) (string, bool) {
	var number string
	switch {
	case p == "/dev/stdin", p == "/dev/stdout", p == "/dev/stderr":
		number = map[string]string{"/dev/stdin": "0", "/dev/stdout": "1", "/dev/stderr": "2"}[p]
	default:
		for _, prefix := range []string{"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"} {
			if n, ok := strings.CutPrefix(p, prefix); ok {
				number = n
			}
		}
	}
	if _, err := strconv.ParseUint(number, 10, 31); err != nil {
		return "", false
	}
	link, err := sys.ReadLink(r.proc, strconv.Itoa(int(r.call.PID))+"/fd/"+number)
	if err != nil || !strings.HasPrefix(link, "/") {
		return "", false
	}
	if tree, _ := r.treeOf(link); tree < 0 {
		return "", false
	}
	// A file that was deleted or moved is not what has its name now.
	var open, named unix.Stat_t
	if unix.Fstatat(r.proc, strconv.Itoa(int(r.call.PID))+"/fd/"+number, &open, 0) != nil ||
		unix.Fstatat(r.root, link[1:], &named, unix.AT_SYMLINK_NOFOLLOW) != nil || open.Dev != named.Dev || open.Ino != named.Ino {
		return "", false
	}
	return link, true
}
