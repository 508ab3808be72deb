package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// held is a path that is private to the session: the sandbox sees what the layer
// has, mounted over it; the host sees what it had.
type held struct {
	root  string
	dir   bool
	new   bool        // on the host something stands for it
	shell atomic.Bool // a file that was deleted inside: its mount point cannot go
	fresh atomic.Bool // a directory that nobody has made yet

	masked bool   // a file of secrets, of which the host's is never touched
	shown  []byte // digest of the phantoms that were put there

	special bool // a pipe or a socket, which ends with the session

	// file is where in the layer it lies meanwhile, if that is not root: what may become
	// live must leave nothing behind where directories are moved about.
	file string
}

// inLayer is the path of what the layer has for it.
func (h *held) inLayer() string {
	if h.file != "" {
		return h.file
	}
	return h.root
}

// gone says whether rel is a held file that was deleted.
func (h *held) gone(rel string) bool { return !h.dir && h.shell.Load() }

// holds are the held paths of one tree. They are few: looked up only if any.
type holds struct {
	mu   sync.RWMutex
	root map[string]*held
}

// at returns what holds rel.
func (h *holds) at(rel string) *held {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if len(h.root) == 0 {
		return nil
	}
	for p := rel; p != ""; p = parentOf(p) {
		if x := h.root[p]; x != nil {
			return x
		}
	}
	return nil
}

// below returns what is held at or under rel.
func (h *holds) below(rel string) (out []*held) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for p, x := range h.root {
		if p == rel || rel == "" || strings.HasPrefix(p, rel+"/") {
			out = append(out, x)
		}
	}
	return out
}

func (h *holds) add(x *held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.root == nil {
		h.root = map[string]*held{}
	}
	h.root[x.root] = x
}

func (h *holds) remove(root string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.root, root)
}

// hold makes a path private. The caller has no lock on names.
func (w *work) hold(n *needHold) error {
	w.names.Lock()
	defer w.names.Unlock()
	tree := &w.conf.Trees[n.tree]
	if w.held[n.tree].at(n.root) != nil {
		if n.make != nil {
			return unix.EEXIST
		}
		return nil
	}
	if tree.Layer == nil {
		return unix.EROFS
	}
	if n.masked {
		return w.holdMasked(n.tree, n.root)
	}
	at, name, err := w.parentIn(int(tree.Host.Fd()), n.root)
	if err != nil {
		return err
	}
	x := &held{root: n.root, dir: n.dir, special: n.make != nil}
	public := !n.verdict.Hold && n.verdict.Form == hostexec.FormEnv
	if public {
		x.file = meanwhile()
	}
	var st unix.Stat_t
	switch err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
		if err := w.begin(n, x, at, name); err != nil {
			return w.unmake(n.tree, x, err)
		}
		x.new = true
		x.shell.Store(!n.dir && !x.special) // until who asked for it makes it
		x.fresh.Store(n.dir)
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Mode&unix.S_IFMT != unix.S_IFREG:
		return unix.EACCES
	default:
		x.dir = st.Mode&unix.S_IFMT == unix.S_IFDIR
	}
	if !x.new && public {
		if err := w.copyHost(n.tree, x, at, name); err != nil {
			return w.unmake(n.tree, x, err)
		}
	}
	if err := w.cover(n.tree, x); err != nil {
		return w.unmake(n.tree, x, err)
	}
	w.held[n.tree].add(x)
	if public {
		w.public.hopes(n.tree, x, st, n.verdict)
		return nil // it is told of once it does not pass
	}
	if w.conf.Held != nil {
		w.conf.Held(n.tree, n.root, n.verdict)
	}
	return nil
}

// unmake takes away what was made for a path that could not be held.
func (k *Keeper) unmake(tree int, x *held, err error) error {
	t := &k.conf.Trees[tree]
	if x.new {
		err = errors.Join(err, removeStandIn(int(t.Host.Fd()), x.root))
	}
	if x.file != "" {
		err = errors.Join(err, ignore(unix.Unlinkat(int(t.Layer.Fd()), x.file, 0), unix.ENOENT))
	}
	return err
}

// Nowhere is what a link says that stands on the host for a held file. Nothing can
// ever be made there.
const Nowhere = file.Nowhere

// begin makes a new held name: first in the layer, then what stands for it on the
// host, without which there would be no place to mount it. An empty directory and a
// link that leads nowhere are nothing that a tool reads. (A socket would be even
// less, but git inside goes by the type that a directory says, and passes it over.)
func (w *work) begin(n *needHold, x *held, at int, name string) error {
	layer, own, err := w.parentIn(int(w.conf.Trees[n.tree].Layer.Fd()), x.inLayer())
	if err != nil {
		return err
	}
	switch {
	case n.make != nil:
		err = n.make(layer, own)
	case n.dir:
		err = unix.Mkdirat(layer, own, 0o755)
	default:
		err = unix.Mknodat(layer, own, unix.S_IFREG|0o644, 0)
	}
	if err != nil && (n.make != nil || !errors.Is(err, unix.EEXIST)) {
		return err
	}
	if err := w.stand.note(standIn{Tree: []byte(w.conf.Trees[n.tree].Path), Rel: []byte(n.root)}); err != nil {
		return err
	}
	if n.dir {
		return unix.Mkdirat(at, name, 0o755)
	}
	return unix.Symlinkat(Nowhere, at, name)
}

// cover mounts what the layer has for a held path over what the sandbox sees there.
func (w *work) cover(n int, x *held) error {
	tree := &w.conf.Trees[n]
	src, err := sys.OpenBeneath(int(tree.Layer.Fd()), x.inLayer())
	if err != nil {
		return err
	}
	defer unix.Close(src)
	dst, err := w.inside(n, x.root)
	if err != nil {
		return err
	}
	return w.spaces.AttachIn(src, dst, false)
}

// inside opens what the sandbox has at a path of a tree. It must be what the host has
// there: directories above the tree may be the agent's own, to be moved about.
func (w *work) inside(n int, rel string) (int, error) {
	tree := &w.conf.Trees[n]
	fd, err := sys.OpenBeneath(w.inner[n], rel)
	if err != nil {
		return -1, err
	}
	w.own(fd)
	host, err := sys.OpenBeneath(int(tree.Host.Fd()), rel)
	if err != nil {
		return -1, err
	}
	if same, err := sameNode(fd, w.own(host)); err != nil || !same {
		return -1, unix.EBUSY
	}
	return fd, nil
}

func (w *work) parentIn(at int, rel string) (dir int, name string, err error) {
	dir, err = openDir(at, parentOf(rel))
	if err != nil {
		return -1, "", err
	}
	return w.own(dir), rel[strings.LastIndexByte(rel, '/')+1:], nil
}

// release ends the holding of a path that is no more. The caller has names alone.
func (w *work) release(tree int, x *held) error {
	t := &w.conf.Trees[tree]
	if x.new { // with the name the kernel takes the mount away
		w.held[tree].remove(x.root)
		return removeStandIn(int(t.Host.Fd()), x.root)
	}
	dir, err := w.inside(tree, parentOf(x.root))
	if err != nil {
		return err
	}
	if err := w.spaces.DetachIn(dir, x.root[strings.LastIndexByte(x.root, '/')+1:]); err != nil {
		return err
	}
	w.held[tree].remove(x.root)
	return nil
}

// settle deletes in the layer what was deleted inside and left a shell, and what is
// of no use without its processes.
func (k *Keeper) settle() error {
	var all error
	for i := range k.held {
		for _, x := range k.held[i].below("") {
			if !x.gone(x.root) && !x.special {
				all = errors.Join(all, k.toPlace(i, x))
				continue
			}
			dir, err := openDir(int(k.conf.Trees[i].Layer.Fd()), parentOf(x.inLayer()))
			if err != nil {
				all = errors.Join(all, fmt.Errorf("held %s: %w", x.root, err))
				continue
			}
			err = unix.Unlinkat(dir, nameOf(x.inLayer()), 0)
			unix.Close(dir)
			if err != nil && !errors.Is(err, unix.ENOENT) {
				all = errors.Join(all, fmt.Errorf("held %s: %w", x.root, err))
			}
		}
	}
	return all
}

// standIn is a name on the host that stands for a held one.
type standIn struct {
	Tree []byte `json:"tree"` // names are bytes, and JSON has none but in this form
	Rel  []byte `json:"rel"`
}

// standIns is the list of them on disk, written before each is made, so that a
// session that was killed leaves nothing for good.
type standIns struct {
	mu   sync.Mutex
	file *os.File
	size int64
}

// maxStandIns bounds the list. Who makes and removes held names without end is refused
// more: what is not read again would stay on the host.
const maxStandIns = 64 << 20

func openStandIns(name string) (*standIns, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("keeper: %w", err)
	}
	return &standIns{file: f, size: st.Size()}, nil
}

func (s *standIns) note(x standIn) error {
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += int64(len(b)) + 1; s.size > maxStandIns {
		return unix.ENOSPC
	}
	_, err = s.file.Write(append(b, '\n'))
	return err
}

// clear takes them away.
func (s *standIns) clear() error {
	if err := ClearStandIns(s.file.Name()); err != nil {
		return err
	}
	return os.Remove(s.file.Name())
}

func readStandIns(name string) (all []standIn, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for d := json.NewDecoder(io.LimitReader(f, maxStandIns)); ; {
		var x standIn
		if err := d.Decode(&x); err != nil {
			return all, nil // the last line of a killed session may be torn
		}
		all = append(all, x)
	}
}

// ClearStandIns takes away what a session left on the host in place of held names.
// A name that is something else by now is left alone.
func ClearStandIns(name string) error {
	all, err := readStandIns(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var failed error
	for i := len(all) - 1; i >= 0; i-- { // what is below was made later
		root, err := sys.OpenSource(string(all[i].Tree))
		if err != nil {
			continue // the tree is gone
		}
		failed = errors.Join(failed, removeStandIn(root, string(all[i].Rel)))
		unix.Close(root)
	}
	return failed
}

// removeStandIn removes a link that leads nowhere, an empty directory, or what was to be
// renamed to a name on the host, and nothing else.
func removeStandIn(root int, rel string) error {
	dir, err := openDir(root, parentOf(rel))
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		if text, rerr := sys.ReadLink(dir, name); rerr == nil && text == Nowhere {
			err = unix.Unlinkat(dir, name, 0)
		}
	case unix.S_IFDIR:
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	case unix.S_IFREG:
		if strings.HasPrefix(name, becoming) {
			err = unix.Unlinkat(dir, name, 0)
		}
	}
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
