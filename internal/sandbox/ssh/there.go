package ssh

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/parcel"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// Arg is the first argument of our program on another machine. After it come HOME and PATH
// of the user there; its environment is empty.
const Arg = "ringfence-there"

// init keeps a far end on the first thread: the sandbox dies with the thread that starts it.
func init() {
	if Is(os.Args) {
		runtime.LockOSThread()
	}
}

// Is holds for the arguments of our program on another machine.
func Is(args []string) bool { return len(args) == 4 && (args[1] == Arg || args[1] == stayArg) }

// Main is our program there. It does not return.
func Main(args []string) {
	runtime.LockOSThread()
	sys.SetName(probe.Comm)
	if args[1] == stayArg {
		stayMain(args[2], args[3])
	}
	ends, err := far.Stdio()
	if err != nil {
		os.Exit(1)
	}
	if err := serve(ends, args[2], args[3]); err != nil {
		text := err.Error()
		writeFrame(ends, answer{Failed: strings.ToValidUTF8(text[:min(len(text), maxText)], "?")})
		io.Copy(io.Discard, ends) // until it has been read: the near end closes
		os.Exit(1)
	}
	os.Exit(0)
}

// serve tells what is here, and does what it is told.
func serve(ends io.ReadWriteCloser, home, path string) error {
	b, err := openBuild("/proc/self/exe", runtime.GOARCH)
	if err != nil {
		return err
	}
	b.Close()
	used()
	if err := writeFrame(ends, answer{Hello: look(b.sum, path)}); err != nil {
		return err
	}
	body, err := readFrame(ends, parcel.MaxList)
	if err != nil {
		return nil // it was only asked what is here
	}
	var o order
	if err := json.Unmarshal(body, &o); err != nil {
		return err
	}
	switch {
	case o.Do == doProbe:
		_, results := hostfacts.Probe(context.Background())
		return writeFrame(ends, answer{Probed: results})
	case o.Do == doStay && o.List != nil:
		return stay(ends, home, o)
	case o.Do == doResume:
		return resume(ends, home, o)
	case o.Do == doFetch:
		return give(ends, home, o)
	}
	return errors.New("an order that is none")
}

// look finds what is here.
func look(sum, path string) *hello {
	f := hostfacts.Quick()
	h := &hello{Sum: sum, Arch: f.Arch, Kernel: f.Kernel, Landlock: f.Landlock, System: []node{}}
	for _, n := range hostfacts.Image() {
		if clean(n.Real) && plain(n.Link) {
			h.System = append(h.System, node{n.Path, n.Link, n.Real})
		}
	}
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if clean(dir) && shows(h.System, dir) {
			dirs = append(dirs, dir)
		}
	}
	h.Path = strings.Join(dirs, ":")
	return h
}

// shows holds for a directory that lies in what is shown.
func shows(system []node, dir string) bool {
	for _, n := range system {
		if file.Within(dir, n.Path) {
			return true
		}
	}
	return false
}

// stay takes a parcel, starts the far end of a link, and leads to it.
func stay(ends io.ReadWriteCloser, home string, o order) error {
	if err := o.Terms.check(); err != nil {
		return err
	}
	w, err := openWork(home, o.Session)
	if err != nil {
		return err
	}
	if err := w.take(ends, o.List); err != nil {
		w.remove()
		return err
	}
	self, err := os.Readlink("/proc/self/exe")
	if err == nil {
		err = w.settle(o.Terms)
	}
	if err != nil {
		w.remove()
		return err
	}
	if err := writeFrame(ends, answer{Ready: &ready{Dir: w.trees(), Self: self}}); err != nil {
		return err // who stays sees that nobody comes
	}
	return w.lead(ends)
}

// work is the directory of a session on this machine. It is there as long as the session is.
type work struct {
	cache string // ~/.cache/ringfence
	dir   string
	lock  *os.File
}

// named finds the directory of a session, which may not be there.
func named(home, session string) (*work, error) {
	if session == "" || session[0] == '.' || len(session) > 64 || !filepath.IsLocal(session) || filepath.Base(session) != session {
		return nil, errors.New("a session without a name")
	}
	cache, err := sys.Owned(filepath.Join(home, ".cache", "ringfence"))
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(cache, 0o700); err != nil {
		return nil, err
	}
	return &work{cache: cache, dir: filepath.Join(cache, "work", session)}, nil
}

// openWork makes it, and removes what dead sessions left.
func openWork(home, session string) (*work, error) {
	w, err := named(home, session)
	if err != nil {
		return nil, err
	}
	all := filepath.Dir(w.dir)
	if err := os.MkdirAll(all, 0o700); err != nil {
		return nil, err
	}
	turn, err := file.LockDir(all, unix.LOCK_EX) // nobody sweeps what is not locked yet
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	sweep(w.cache)
	thin(w.cache)
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		return nil, err
	}
	if w.lock, err = file.LockDir(w.dir, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, err
	}
	return w, os.Mkdir(w.trees(), 0o700)
}

func (w *work) trees() string { return filepath.Join(w.dir, "trees") }

// remove removes it, and what nobody has used for long.
func (w *work) remove() {
	file.RemoveTree(w.dir)
	thin(w.cache)
}

// sweep removes what is left of sessions whose far end was killed, and which nobody fetched.
func sweep(cache string) {
	all := filepath.Join(cache, "work")
	entries, err := os.ReadDir(all)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(all, e.Name())
		if lock, err := file.LockDir(dir, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			(&work{cache: cache, dir: dir}).expire()
			lock.Close()
		}
	}
}

// take receives a parcel.
func (w *work) take(ends io.ReadWriter, list *parcel.List) error {
	u, err := parcel.Arrive(list, filepath.Join(w.cache, "store"))
	if err != nil {
		return err
	}
	defer u.Close()
	if err := writeFrame(ends, answer{Needs: u.Needs()}); err != nil {
		return err
	}
	return u.Take(ends, w.trees())
}
