package keeper

import (
	"encoding/binary"
	"errors"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Ask is one thing that a caller named, as the sandbox sees it.
type Ask struct {
	Path   string // absolute
	Write  bool   // it would be changed or made
	Open   bool   // its content was wanted, not only whether it is there
	Absent bool   // nothing is there inside
	Fixed  bool   // something is there, and is read-only
	Made   bool   // it is made now, in a place that is the sandbox's own
}

// asking notes what callers name, in a session from which a policy is learnt. It
// decides nothing: every call that it looks at goes the way it would have gone, so it
// does not matter that the caller can change a path after it was read here.
type asking struct {
	begun atomic.Bool // the agent runs; what came before was our own first process
	mu    sync.Mutex
	known map[question]bool
}

// question is what is asked only once: a program asks for the same names again and
// again, and to look each time would be slow.
type question struct {
	path        string
	write, open bool
}

// maxKnown bounds the memory of one session.
const maxKnown = 1 << 15

func (a *asking) again(q question) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[q] {
		return true
	}
	if a.known == nil || len(a.known) >= maxKnown {
		a.known = map[question]bool{}
	}
	a.known[q] = true
	return false
}

// naming says where a call has its path, and what it wants.
type naming struct {
	dir, at     int // arguments; dir < 0: the working directory
	write, open bool
}

// namings are the calls that every architecture has.
var namings = map[int32][]naming{
	unix.SYS_OPENAT:     {{dir: 0, at: 1, open: true}},
	unix.SYS_OPENAT2:    {{dir: 0, at: 1, open: true}},
	unix.SYS_NEWFSTATAT: {{dir: 0, at: 1}},
	unix.SYS_STATX:      {{dir: 0, at: 1}},
	unix.SYS_FACCESSAT:  {{dir: 0, at: 1}},
	unix.SYS_FACCESSAT2: {{dir: 0, at: 1}},
	unix.SYS_READLINKAT: {{dir: 0, at: 1}},
	unix.SYS_EXECVE:     {{dir: -1, at: 0, open: true}},
	unix.SYS_EXECVEAT:   {{dir: 0, at: 1, open: true}},
	unix.SYS_CHDIR:      {{dir: -1, at: 0, open: true}},
	unix.SYS_MKDIRAT:    {{dir: 0, at: 1, write: true}},
	unix.SYS_MKNODAT:    {{dir: 0, at: 1, write: true}},
	unix.SYS_RENAMEAT:   {{dir: 0, at: 1, write: true}, {dir: 2, at: 3, write: true}},
	unix.SYS_RENAMEAT2:  {{dir: 0, at: 1, write: true}, {dir: 2, at: 3, write: true}},
	unix.SYS_UNLINKAT:   {{dir: 0, at: 1, write: true}},
	unix.SYS_TRUNCATE:   {{dir: -1, at: 0, write: true}},
	unix.SYS_SYMLINKAT:  {{dir: 1, at: 2, write: true}},
	unix.SYS_LINKAT:     {{dir: 0, at: 1}, {dir: 2, at: 3, write: true}},
}

// note tells what the waiting call names, and whether it came only to be looked at:
// the filter of an ordinary session would not have handed it over.
func (r *request) note() (only bool) {
	if r.call.Nr == unix.SYS_EXECVE || r.call.Nr == unix.SYS_EXECVEAT {
		r.asks.begun.Store(true)
	}
	if r.asks.begun.Load() && int(r.call.PID) != r.conf.PID {
		for _, n := range namings[r.call.Nr] {
			r.named(n)
		}
	}
	return r.harmless()
}

// opens reads the flags of a call that opens.
func (r *request) opens() (flags uint64, ok bool) {
	switch r.call.Nr {
	case unix.SYS_OPENAT:
		return r.arg(2), true
	case unix.SYS_OPENAT2:
		var b [8]byte
		if r.arg(3) < 24 || r.call.Read(r.arg(2), b[:]) != nil {
			return 0, false
		}
		return binary.NativeEndian.Uint64(b[:]), true
	}
	return opensByName(r)
}

// openChanges are the flags by which an open may change something, as the filter of
// ordinary sessions has them.
const openChanges = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | 0x400000 // __O_TMPFILE

// harmless holds for a call that goes straight to the kernel in other sessions.
func (r *request) harmless() bool {
	if mode, ok := r.accessMode(); ok {
		return mode&unix.W_OK == 0
	}
	if flags, ok := r.opens(); ok && r.call.Nr != unix.SYS_OPENAT2 {
		return uint32(flags)&openChanges == 0
	}
	return handlers[r.call.Nr] == nil
}

func (r *request) accessMode() (uint32, bool) {
	switch r.call.Nr {
	case unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2:
		return r.flags(2), true
	}
	return accessByName(r)
}

// named looks at one name of the call.
func (r *request) named(n naming) {
	p, err := r.path(r.arg(n.at))
	if err != nil || p == "" {
		return
	}
	full, ok := r.absolute(n.dir, p)
	if !ok {
		return
	}
	creates := n.write && !r.removes()
	if flags, ok := r.opens(); ok {
		n.write = uint32(flags)&(openChanges&^unix.O_CREAT) != 0
		creates = uint32(flags)&unix.O_CREAT != 0
		n.write = n.write || creates
		n.open = flags&unix.O_PATH == 0
	}
	if r.asks.again(question{full, n.write, n.open}) {
		return
	}
	a := Ask{Path: full, Write: n.write, Open: n.open}
	if n.write {
		r.lookWrite(&a, creates)
	} else {
		r.look(&a)
	}
	r.conf.Asked(a)
}

func (r *request) removes() bool {
	return r.call.Nr == unix.SYS_UNLINKAT || r.call.Nr == unix.SYS_TRUNCATE || removesByName(r.call.Nr)
}

// absolute is where a path begins for the caller, joined with it.
func (r *request) absolute(dir int, p string) (string, bool) {
	if dir < 0 {
		return r.from(unix.AT_FDCWD, p)
	}
	return r.from(r.fd(dir), p)
}

// look finds out whether something is there inside. A link that leads nowhere inside
// stands for what it names.
func (r *request) look(a *Ask) {
	for range 8 {
		fd, err := r.seen(a.Path, 0)
		if err == nil {
			r.own(fd)
			return
		}
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			return
		}
		link, err := r.seen(a.Path, unix.O_NOFOLLOW)
		if err != nil {
			a.Absent = true
			return
		}
		to, err := sys.ReadLink(r.own(link), "")
		if err != nil {
			return
		}
		if !strings.HasPrefix(to, "/") {
			to = path.Join(path.Dir(a.Path), to)
		}
		a.Path = path.Clean(to)
	}
}

// lookWrite finds out what would keep the caller from writing.
func (r *request) lookWrite(a *Ask, creates bool) {
	if tree, _ := r.treeOf(a.Path); tree >= 0 {
		return // the keeper's
	}
	parent, err := r.seen(path.Dir(a.Path), unix.O_DIRECTORY)
	if err != nil {
		a.Absent = errors.Is(err, unix.ENOENT)
		return
	}
	at := r.own(parent)
	fd, err := r.seen(a.Path, 0)
	is := err == nil
	if is {
		at = r.own(fd)
	}
	if is && creates && !a.Open {
		return // mkdir -p: it is there, whoever may write to it
	}
	var st unix.Statfs_t
	if unix.Fstatfs(at, &st) != nil {
		return
	}
	switch {
	case st.Flags&unix.ST_RDONLY != 0:
		a.Fixed = true
	case is:
	case creates:
		a.Made = true
	default:
		a.Absent = !r.removes() // who removes what is not there has what he wants
	}
}

// seen opens a path as the sandbox would find it, without touching what is there.
func (r *request) seen(p string, flags uint64) (int, error) {
	rel := strings.TrimPrefix(p, "/")
	if rel == "" {
		rel = "."
	}
	return unix.Openat2(r.root, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
}
