package keeper

import (
	"errors"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Refused is something that a program inside did not get, though the host's user might
// have: a write where the session is read-only or has nothing, or a call.
type Refused struct {
	Path   string // absolute, as the sandbox has it; "": it is a call
	Absent bool   // nothing is there inside; else it is read-only
	Call   string
	Why    string // of a call
	PID    int    // of the caller, on the host; it waits
}

// Refusal is the answer to a call that comes here only to be refused.
type Refusal struct {
	Call, Why string
	Errno     unix.Errno
}

// refusals remembers what was told: each once, and the first few hundred. The rest is
// counted, so that nothing which a program repeats without end costs more than that.
type refusals struct {
	mu    sync.Mutex
	known map[string]bool
	rest  int
}

const maxRefused = 256

// again says whether nothing more is to be told of it.
func (s *refusals) again(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[what] || len(s.known) >= maxRefused {
		s.rest++
		return true
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[what] = true
	return false
}

// Untold is how many refusals were counted and not told of one by one.
func (k *Keeper) Untold() int {
	k.refusals.mu.Lock()
	defer k.refusals.mu.Unlock()
	return k.refusals.rest
}

func (r *request) refused(what Refused) {
	if r.conf.Refused == nil || r.trusted() || r.refusals.again(what.Call+"\x00"+what.Path) {
		return
	}
	what.PID = int(r.call.PID)
	r.conf.Refused(what)
}

// trusted holds for our own first process, which tries what the walls forbid. Threads have
// numbers of their own, so this asks whose the caller is.
func (r *request) trusted() bool {
	var st unix.Stat_t
	return unix.Fstatat(r.proc, itoa(r.conf.PID)+"/task/"+itoa(int(r.call.PID)), &st, 0) == nil
}

// refuse answers a call that came only for that. Nothing of the caller's memory is looked
// at, and there is no other answer.
func (w *worker) refuse() bool {
	if w.conf.Refuse == nil {
		return false
	}
	no, ok := w.conf.Refuse(w.call.Nr, &w.call.Args)
	if !ok {
		return false
	}
	w.refused(Refused{Call: no.Call, Why: no.Why})
	w.calls.Fail(&w.call, no.Errno)
	return true
}

// left looks at a change that is left to the kernel, whose answer nobody here hears: it
// tells where that will be "read-only", and only there. A place where the host's user may
// not write either is none of ours: access says EACCES of that first.
func (r *request) left(s place) {
	if r.conf.Refused == nil || s.name == "" {
		return
	}
	if _, asks := r.accessMode(); asks {
		return
	}
	at, ok := r.changed(s)
	if !ok || !errors.Is(unix.Faccessat(unix.AT_FDCWD, sys.ByDescriptor(at), unix.W_OK, 0), unix.EROFS) {
		return
	}
	if dir, err := sys.ReadLink(unix.AT_FDCWD, sys.ByDescriptor(s.parent)); err == nil {
		r.refused(Refused{Path: path.Join(dir, s.name)})
	}
}

// changed is what has to be writable for a change at s; false: it is not about that.
func (r *request) changed(s place) (int, bool) {
	fd, err := unix.Openat(s.parent, s.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return s.parent, r.creates()
	}
	var st unix.Stat_t
	if unix.Fstat(r.own(fd), &st) != nil {
		return -1, false
	}
	switch {
	case r.makes(): // it is there already
		return -1, false
	case r.removes():
		return s.parent, true
	}
	return fd, st.Mode&unix.S_IFMT == unix.S_IFREG
}

// creates holds for a call that makes a name.
func (r *request) creates() bool {
	if flags, ok := r.opens(); ok {
		return flags&unix.O_CREAT != 0
	}
	for _, n := range namings[r.call.Nr] {
		if n.write && !r.removes() {
			return true
		}
	}
	return false
}

// makes holds for a call that makes a directory. Programs make all above a path without
// a look, and whether it was there or is made later, they go on.
func (r *request) makes() bool { return r.call.Nr == unix.SYS_MKDIRAT || makesByName(r.call.Nr) }

// missed looks at a path that does not lead to a directory inside. It is told where no
// program could have made that directory, or where it lies beside a tree of the host: who
// writes to a sibling of the project means the one that the host has. The host is not
// asked: a path that an agent chose may lead to an automounter.
func (r *request) missed(dirfd int, p string) {
	if r.conf.Refused == nil || !r.creates() || r.makes() {
		return
	}
	full, ok := r.from(dirfd, p)
	if !ok {
		return
	}
	above, missing := path.Dir(full), path.Base(full)
	at, err := r.seen(above, unix.O_DIRECTORY)
	if err == nil {
		r.own(at)
		return // it came meanwhile
	}
	for err != nil {
		if !errors.Is(err, unix.ENOENT) || above == "/" {
			return
		}
		above, missing = path.Dir(above), path.Base(above)
		at, err = r.seen(above, unix.O_DIRECTORY)
	}
	fixed := errors.Is(unix.Faccessat(unix.AT_FDCWD, sys.ByDescriptor(r.own(at)), unix.W_OK, 0), unix.EROFS)
	if tree, _ := r.treeOf(above); tree < 0 && (fixed || r.holdsTree(above) && !strings.HasPrefix(missing, ".")) {
		r.refused(Refused{Path: full, Absent: true})
	}
}

// holdsTree says whether a tree lies below a directory.
func (r *request) holdsTree(dir string) bool {
	for i := range r.conf.Trees {
		if strings.HasPrefix(r.conf.Trees[i].Path, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}

// from is a path joined with where it begins for the caller.
func (r *request) from(dirfd int, p string) (string, bool) {
	if strings.HasPrefix(p, "/") {
		return path.Clean(p), true
	}
	link := itoa(int(r.call.PID)) + "/cwd"
	if dirfd != unix.AT_FDCWD {
		link = itoa(int(r.call.PID)) + "/fd/" + itoa(dirfd)
	}
	at, err := sys.ReadLink(r.proc, link)
	if err != nil || !strings.HasPrefix(at, "/") {
		return "", false
	}
	return path.Join(at, p), true
}
