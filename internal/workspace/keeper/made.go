package keeper

import (
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ownFiles knows the files that the session itself made under the names of secrets: it has
// seen what is in them. It knows the files and not the names, under which a person may
// write something else later. A file whose file system does not say when it was born
// cannot be told from a later one of its number, and is nobody's.
//
// A file is the session's as long as it has in it what the session left there: once
// nobody has it open to write, what is in it is noted, and who changes it then without
// the keeper is somebody else.
//
// Left at risk: what somebody writes while the session has the file open to write, or in
// the moment after, counts as the session's; and who has a file open, or has another name
// of it, reads there whatever is mounted over this name.
type ownFiles struct {
	mu   sync.Mutex
	of   map[node]*ownFile
	open int           // how many of them the session may have open to write
	few  time.Time     // when some were looked at between calls
	wake chan struct{} // for who waits until it has not
}

type ownFile struct {
	tree int
	rel  string // where it was last seen
	open bool   // the session may have it open to write
	left content
	seen time.Time // when it had that in it, where nobody can say who has it open
	due  time.Time // when to look again
	wait time.Duration
}

// maxMade bounds them. What is beyond is masked like a file of the host's.
const maxMade = 1 << 14

const (
	firstLook = time.Millisecond
	lastLook  = 250 * time.Millisecond
	maxLooks  = 1 << 10 // at once
)

func newOwnFiles() ownFiles {
	return ownFiles{of: map[node]*ownFile{}, wake: make(chan struct{}, 1)}
}

// content is what a file has in it, as far as it is read.
type content struct {
	size  int64
	sum   [sha256.Size]byte
	mtime unix.Timespec // of one that cannot be read, or not as a whole
}

const maxSummed = 1 << 20

// contentAt looks into a file, and says whether nobody has it open to write: nil if so,
// EAGAIN if somebody has, and something else if that cannot be told.
func contentAt(dir int, name string) (c content, writers, err error) {
	fd, err := openFile(dir, name, unix.O_RDONLY, 0)
	if errors.Is(err, unix.EACCES) {
		var st unix.Stat_t
		err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		return content{size: st.Size, mtime: st.Mtim}, unix.EACCES, err
	}
	if err != nil {
		return content{}, nil, err
	}
	defer unix.Close(fd)
	if writers = lease(fd); errors.Is(writers, unix.EAGAIN) {
		return content{}, writers, nil
	}
	c, err = contentOf(fd)
	return c, writers, err
}

func contentOf(fd int) (c content, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return c, err
	}
	if c.size = st.Size; st.Size > maxSummed {
		c.mtime = st.Mtim
	}
	h := sha256.New()
	_, err = io.Copy(h, io.NewSectionReader(preader(fd), 0, maxSummed))
	h.Sum(c.sum[:0])
	return c, err
}

// preader reads from a descriptor that stays the caller's.
type preader int

func (p preader) ReadAt(b []byte, at int64) (int, error) {
	n, err := unix.Pread(int(p), b, at)
	if n <= 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// mine notes that t was just made, if err says so. The caller has names, so whoever has
// them alone finds it noted.
func (w *work) mine(t *target, err error) {
	if err != nil || w.conf.Secret == nil || t.held != nil || !w.conf.Secret(t.tree, t.rel) {
		return
	}
	n, _, ok := nodeAt(t.dir, t.name)
	if !ok {
		return
	}
	m := &w.made
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.of[n]; x != nil {
		x.tree, x.rel = t.tree, t.rel
		m.reopen(n, t.dir, t.name)
		return
	}
	if len(m.of) >= maxMade {
		w.forgetGone()
	}
	if len(m.of) < maxMade {
		m.of[n] = &ownFile{tree: t.tree, rel: t.rel}
		m.opened(m.of[n])
	}
}

// writes notes that t is about to be written, before it is: a file that was shown as it
// is does not become a secret by what the session writes to it. What somebody else has
// filled in meanwhile has to be masked first.
func (w *work) writes(t *target) error {
	if w.conf.Secret == nil {
		return nil
	}
	m := &w.made
	m.mu.Lock()
	if n, ok := m.isOne(t); ok {
		defer m.mu.Unlock()
		if !m.reopen(n, t.dir, t.name) {
			return errRecent
		}
		return nil
	}
	m.mu.Unlock()
	if w.conf.Shown != nil && w.conf.Secret(t.tree, t.rel) && w.conf.Shown(t.tree, t.rel) {
		w.mine(t, nil)
	}
	return nil
}

func (m *ownFiles) isOne(t *target) (n node, ok bool) {
	if len(m.of) == 0 {
		return n, false
	}
	n, _, ok = nodeAt(t.dir, t.name)
	return n, ok && m.of[n] != nil
}

// reopen notes that the session may write to one of its files from now on. It is false if
// somebody else did before.
func (m *ownFiles) reopen(n node, dir int, name string) bool {
	x := m.of[n]
	if !x.open && !x.untouched(dir, name) {
		delete(m.of, n)
		return false
	}
	m.opened(x)
	return true
}

func (m *ownFiles) opened(x *ownFile) {
	if !x.open {
		m.open++
	}
	x.open, x.seen, x.wait = true, time.Time{}, firstLook
	x.due = time.Now().Add(firstLook)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// untouched says whether a file has in it what the session left there, and nobody is
// about to change that.
func (x *ownFile) untouched(dir int, name string) bool {
	now, _, err := contentAt(dir, name)
	return err == nil && now == x.left
}

// closed notes what the session left in a file once nobody has it open to write. Where
// the file system cannot say whether somebody has, a file that stays as it is for a while
// counts as such. The caller has names alone: nobody is being given a descriptor.
func (m *ownFiles) closed(x *ownFile, dir int, name string) {
	now, writers, err := contentAt(dir, name)
	switch {
	case err != nil || errors.Is(writers, unix.EAGAIN):
		return
	case writers == nil:
	case x.seen.IsZero() || now != x.left:
		x.left, x.seen = now, time.Now()
		return
	case time.Since(x.seen) < lastLook:
		return
	}
	x.left, x.open = now, false
	m.open--
}

// stillOwn says whether a file is one of the session's, and nobody else has written to it.
// The caller has names alone.
func (m *ownFiles) stillOwn(n node, tree int, rel string, dir int, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.of[n]
	if x == nil {
		return false
	}
	x.tree, x.rel = tree, rel
	if x.open {
		m.closed(x, dir, name)
		return true
	}
	if !x.untouched(dir, name) {
		delete(m.of, n)
		return false
	}
	return true
}

// lookOwn looks at files that the session may have open: at those that are due, or at a
// few of all. Between calls nobody waits for it.
func (w *work) lookOwn(few bool) {
	defer w.closeAll()
	if !few {
		w.names.Lock()
	} else if !w.names.TryLock() {
		return
	}
	defer w.names.Unlock()
	m := &w.made
	m.mu.Lock()
	defer m.mu.Unlock()
	now, looks := time.Now(), maxLooks
	if few {
		looks = workers
	}
	for n, x := range m.of {
		if !x.open || !few && x.due.After(now) {
			continue
		}
		if looks--; looks < 0 {
			return
		}
		x.wait = min(2*x.wait, lastLook)
		x.due = now.Add(x.wait)
		if dir, name, ok := w.isAt(n, x); ok {
			m.closed(x, dir, name)
		} else {
			m.forget(n)
		}
		w.closeAll()
	}
}

// watchOwn looks at them until the keeper is closed.
func (k *Keeper) watchOwn(end <-chan struct{}) {
	w := &work{Keeper: k}
	for {
		var next <-chan time.Time
		if wait, some := k.made.next(); some {
			next = time.After(wait)
		}
		select {
		case <-end:
			return
		case <-k.made.wake:
		case <-next:
			w.lookOwn(false)
		}
	}
}

// next says how long there is time until one is due.
func (m *ownFiles) next() (wait time.Duration, some bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == 0 {
		return 0, false
	}
	wait = lastLook
	for _, x := range m.of {
		if x.open {
			wait = min(wait, time.Until(x.due))
		}
	}
	return max(wait, firstLook), true
}

// some says whether it is time to look at those that the session may have open.
func (m *ownFiles) some() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == 0 || time.Since(m.few) < firstLook {
		return false
	}
	m.few = time.Now()
	return true
}

// carry follows the files in a directory that the session moved.
func (m *ownFiles) carry(from, to *target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.of {
		if rest, in := strings.CutPrefix(x.rel, from.rel+"/"); in && x.tree == from.tree {
			x.tree, x.rel = to.tree, join(to.rel, rest)
		}
	}
}

// isAt opens where a file was last seen, if it is there.
func (w *work) isAt(n node, x *ownFile) (dir int, name string, ok bool) {
	dir, name, err := w.parentIn(int(w.conf.Trees[x.tree].Host.Fd()), x.rel)
	if err != nil {
		return dir, name, false
	}
	is, _, ok := nodeAt(dir, name)
	return dir, name, ok && is == n
}

// forgetGone forgets files that are no more where they were last seen. One that was moved
// is masked from then on.
func (w *work) forgetGone() {
	for n, x := range w.made.of {
		if _, _, ok := w.isAt(n, x); !ok {
			w.made.forget(n)
		}
	}
}

func (m *ownFiles) forget(n node) {
	if m.of[n].open {
		m.open--
	}
	delete(m.of, n)
}
