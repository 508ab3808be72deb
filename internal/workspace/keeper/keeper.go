// Package keeper does on the agent's behalf what may change the trees of the host
// in the live view, so that it sees every change before it happens.
//
// Inside, the trees are mounted read-only: that is the wall. The calls that would
// change them come here by seccomp notification, are resolved by descriptors, and
// are judged by where they lead. One of three things is done: pass (done on the
// host, after the undo store has kept what would be lost), hold (the path becomes
// private to the session and waits for review: what the host would run unasked),
// or nothing: the kernel goes on with the call and finds the read-only mount.
// Because of the last, nothing here trusts the caller's memory for more than a
// moment: what the keeper does not do itself is not done.
//
// The keeper works without capabilities and as the agent's user: it can change no
// file that the agent could not have changed in a writable mount.
//
// Left at risk: a file that was passed stays writable through the descriptor that
// the agent got, so judgements are by name, and what is judged by content comes to the
// host as a whole, by rename, when nobody has it open to write; extended
// attributes cannot be set; a file with a second name becomes a file of its own when
// it is written, or that other name would change unseen; a name on the host stands for a held one (an empty
// directory or a link that leads nowhere) until the session ends, and who removes it
// on the host takes the held thing from the session's sight; a signal that comes
// before the keeper has heard of a call interrupts it where the kernel would not.
package keeper

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// Tree is a directory of the host that the agent may change.
type Tree struct {
	Path  string // the same inside and outside
	Git   bool   // it is a git directory
	Rules *hostexec.Rules
	Host  *os.File // the directory itself, outside
	// Pinned are paths in the tree that a rule of the user masks or makes
	// read-only: what is above them cannot be moved, or the rule would name nothing
	// the next time.
	Pinned []string
	// Masked are those of them that show phantoms, with these. The first change inside
	// makes such a file private; until then a read-only mount is over it.
	Masked map[string][]byte
	Layer  *os.File // the private layer over it, as the sandbox mounted it; nil: what would be held is refused
}

// Config is what a keeper needs.
type Config struct {
	Listener *os.File
	PID      int // of the first process inside
	Trees    []Tree
	Umask    uint32
	Store    *undo.Store
	Stand    string // file that names what stands on the host for held names
	// Held is told of every path that becomes private.
	Held func(tree int, rel string, v hostexec.Verdict)
	// Secret says whether a name is one of a file of secrets. What the session itself
	// makes under such a name is its own, and is not masked. nil: none is.
	Secret func(tree int, rel string) bool
	// Shown says whether a file of such a name is nevertheless shown as it is. What the
	// session writes to one is its own from then on. nil: none is.
	Shown func(tree int, rel string) bool
	// Failed is told of what went wrong on our side; the call was refused.
	Failed func(error)
	// Asked is told of what callers name, where a policy is learnt: see seccomp.Learn.
	// nil in every other session.
	Asked func(Ask)
	// Refused is told of what a program inside did not get: see Refused. nil: nobody is.
	Refused func(Refused)
	// Refuse knows the calls that come here only to be refused.
	Refuse func(nr int32, args *[6]uint64) (Refusal, bool)
}

// workers bounds the calls that are served at once. There is one at first; who takes a call
// while nobody is left to take the next begins another. Most sessions never have eight, and
// each is a thread.
const workers = 8

// Keeper serves the calls of one sandbox.
type Keeper struct {
	conf   Config
	calls  *listener
	spaces sys.Namespaces
	root   int // "/" inside
	proc   int // the host's proc

	names    sync.RWMutex   // of all paths: taken alone by a call that moves or removes a directory
	held     []holds        // by tree
	nested   []*repo.Nested // by tree
	inner    []int          // by tree: its mount inside
	stand    *standIns
	masks    umasks
	links    links
	recent   recent
	locked   locked
	made     ownFiles
	public   published
	asks     asking
	refusals refusals
	done     sync.WaitGroup
	count    atomic.Int32 // of workers
	free     atomic.Int32 // of those that wait for a call
	watching sync.WaitGroup
	end      chan struct{} // closed when nobody is left inside
	full     sync.Once     // said that the store is
}

// Start begins to serve.
func Start(conf Config) (*Keeper, error) {
	calls, err := listen(conf.Listener)
	if err != nil {
		return nil, err
	}
	k := &Keeper{conf: conf, calls: calls, held: make([]holds, len(conf.Trees)),
		recent: recent{since: time.Now()}, made: newOwnFiles(), public: published{wake: make(chan struct{}, 1)}, end: make(chan struct{}), root: -1, proc: -1, spaces: sys.Namespaces{User: -1, Mount: -1}}
	for i := range conf.Trees {
		k.nested = append(k.nested, &repo.Nested{Root: conf.Trees[i].Path})
	}
	if err := k.open(); err != nil {
		k.release()
		return nil, err
	}
	ready := make(chan error)
	k.count.Add(1)
	k.done.Go(func() { k.serve(func(err error) { ready <- err }) })
	if conf.Secret != nil {
		k.watching.Go(func() { k.watchOwn(k.end) })
	}
	k.watching.Go(func() { k.watchPublic(k.end) })
	if err := <-ready; err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// enter opens the sandbox.
func (k *Keeper) enter() error {
	const flags = unix.O_PATH | unix.O_CLOEXEC
	own := "/proc/" + strconv.Itoa(k.conf.PID)
	for _, o := range []struct {
		at    *int
		name  string
		flags int
	}{
		{&k.proc, "/proc", flags | unix.O_DIRECTORY}, {&k.root, own + "/root", flags | unix.O_DIRECTORY},
		{&k.spaces.User, own + "/ns/user", unix.O_RDONLY | unix.O_CLOEXEC}, {&k.spaces.Mount, own + "/ns/mnt", unix.O_RDONLY | unix.O_CLOEXEC},
	} {
		fd, err := unix.Open(o.name, o.flags, 0)
		if err != nil {
			return fmt.Errorf("keeper: open %s: %w", o.name, err)
		}
		*o.at = fd
	}
	return nil
}

func (k *Keeper) open() error {
	if err := k.enter(); err != nil {
		return err
	}
	// Now, while nobody could have moved the directories above them.
	for i := range k.conf.Trees {
		fd, err := sys.OpenBeneath(k.root, strings.TrimPrefix(k.conf.Trees[i].Path, "/"))
		if err != nil {
			return fmt.Errorf("keeper: open %q inside: %w", k.conf.Trees[i].Path, err)
		}
		k.inner = append(k.inner, fd)
	}
	var err error
	k.stand, err = openStandIns(k.conf.Stand)
	return err
}

// Close ends the service and takes away what stood on the host for held names, and locks.
// Nothing may be left inside that could call.
func (k *Keeper) Close() error {
	k.calls.Close()
	k.done.Wait()
	close(k.end)
	k.watching.Wait()
	err := errors.Join(k.settle(), k.stand.clear(), k.unlock())
	k.release()
	return err
}

func (k *Keeper) release() {
	for _, fd := range append(k.inner, k.proc, k.root, k.spaces.User, k.spaces.Mount) {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if k.stand != nil {
		k.stand.file.Close()
	}
}

// treeOf tells in which tree a directory lies, and where in it.
func (k *Keeper) treeOf(dir string) (tree int, rel string) {
	best := -1
	for i := range k.conf.Trees {
		p := k.conf.Trees[i].Path
		if len(dir) < len(p) || dir[:len(p)] != p || len(dir) > len(p) && dir[len(p)] != '/' {
			continue
		}
		if best < 0 || len(p) > len(k.conf.Trees[best].Path) {
			best = i
		}
	}
	if best < 0 {
		return -1, ""
	}
	return best, strings.TrimPrefix(dir[len(k.conf.Trees[best].Path):], "/")
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func parentOf(rel string) string {
	d := path.Dir(rel)
	if d == "." {
		return ""
	}
	return d
}
