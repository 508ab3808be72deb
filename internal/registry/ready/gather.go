package ready

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// Bounds of what one session gathers. Beyond them nothing is gathered: the door has it.
const (
	maxWaiting = 1024
	maxNames   = 1 << 16
)

// patience is how long the end of a session waits for what is still being unpacked.
const patience = 5 * time.Second

// Gathering is what the door hands out in one session and will be a layer. A nil one gathers
// nothing.
type Gathering struct {
	view *View
	held *Held

	mu    sync.Mutex
	dir   string // "": there is nothing yet
	lock  *os.File
	since time.Time
	names int
	over  bool
	queue chan job
	done  chan struct{}
}

// job is a file that takes long to be made ready.
type job struct {
	f    *os.File
	make func(dir string, f *os.File) error
}

// Gather begins a layer of a view. What the session is shown already is not gathered again.
func (v *View) Gather(held *Held) *Gathering { return &Gathering{view: v, held: held} }

// Link takes a blob of the store in, under a name. What has no name in the store, because it
// was only lent or could not be proved, cannot be linked and is left out.
func (g *Gathering) Link(f *os.File, name string) {
	if !g.wants(name) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.begin() {
		LinkAt(f, filepath.Join(g.dir, name)) // if it cannot be, the door has it
	}
}

// Later takes in what is made of a blob, beside the session. The blob stays open until then.
func (g *Gathering) Later(f *os.File, name string, do func(dir string, f *os.File) error) {
	if !g.wants(name) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return
	}
	j := job{os.NewFile(uintptr(fd), f.Name()), do}
	if !g.begin() {
		j.f.Close()
		return
	}
	if g.queue == nil {
		g.queue, g.done = make(chan job, maxWaiting), make(chan struct{})
		go g.work(g.queue)
	}
	select {
	case g.queue <- j:
	default: // more than can wait: the door has it
		j.f.Close()
	}
}

func (g *Gathering) wants(name string) bool { return g != nil && !g.held.has(name) }

// begin makes the directory of the layer, once there is something to put there.
func (g *Gathering) begin() bool {
	if g.over || g.names >= maxNames {
		return false
	}
	g.names++
	if g.dir != "" {
		return true
	}
	dir := filepath.Join(g.view.root, "new", rand.Text())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false
	}
	if g.lock = hold(dir, unix.LOCK_EX); g.lock == nil {
		return false
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return false
	}
	g.dir, g.since = dir, time.Now()
	return true
}

// work makes ready what waits, one after the other.
func (g *Gathering) work(queue <-chan job) {
	defer close(g.done)
	for j := range queue {
		if !g.ended() {
			j.make(g.dir, j.f) // what cannot be made ready the door has
		}
		j.f.Close()
	}
}

func (g *Gathering) ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over && g.queue == nil
}

// Publish has later sessions see what was gathered. It is called when the session is over.
func (g *Gathering) Publish() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	if g.over || g.dir == "" {
		g.over = true
		g.mu.Unlock()
		return nil
	}
	g.over = true
	queue := g.queue
	g.mu.Unlock()
	if queue != nil {
		close(queue)
		hurry := time.AfterFunc(patience, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.queue = nil // what was not begun by now is not
		})
		<-g.done
		hurry.Stop()
	}
	g.held.Close() // the session is over, and shows nothing any more
	err := g.view.publish(g.dir, g.view.layer(g.since))
	if err != nil {
		file.RemoveTree(g.dir)
	}
	g.lock.Close()
	if err == nil {
		err = g.view.tidy(time.Now())
	}
	if err != nil {
		return fmt.Errorf("packages cannot be made ready: %w", err)
	}
	return nil
}

// layer is one that begins now.
func (v *View) layer(since time.Time) layer {
	l := layer{since: since.Unix()}
	if v.lasts > 0 {
		l.until = l.since + int64(v.lasts/time.Second)
	}
	return l
}

// publish gives a layer its name, once all of it is on the disk: a torn one would be believed.
func (v *View) publish(dir string, l layer) error {
	if err := syncAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return err
	}
	return os.Rename(dir, filepath.Join(v.dir, l.name()))
}

// syncAll writes the whole file system out: a layer has thousands of small files.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// LinkAt gives an open file of the store a further name.
func LinkAt(f *os.File, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
