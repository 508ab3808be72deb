package decoy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Quiet is for how long nothing more is told of a decoy that was read.
const Quiet = 10 * time.Second

// Read tells that a decoy was opened.
type Read struct {
	Name string
	Time time.Time
}

// Watcher tells of reads until it is closed.
type Watcher struct {
	inotify *os.File
	what    uint32 // the events of a read
	on      func(Read)
	quiet   time.Duration
	ended   chan struct{}

	mu     sync.Mutex
	armed  map[int32]decoy // by watch descriptor
	timers map[decoy]*time.Timer
	closed bool
}

type decoy struct{ host, name string }

// Watch tells of each opening of a file, given by its path on the host and the name of
// its decoy. on is called by one goroutine, and the next read waits for its return.
//
// A watch ends with its first event and is set anew after Quiet. So a session that
// opens a decoy in a loop costs the host nothing, and no queue runs over.
//
// Where a server opens files for the sandbox it opens them to look at them, too: with
// served only reading counts.
func Watch(files map[string]string, served bool, on func(Read)) (*Watcher, error) {
	what := uint32(unix.IN_OPEN | unix.IN_ACCESS)
	if served {
		what = unix.IN_ACCESS
	}
	return watch(files, what, on, Quiet)
}

func watch(files map[string]string, what uint32, on func(Read), quiet time.Duration) (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch decoys: inotify: %w", err)
	}
	w := &Watcher{inotify: os.NewFile(uintptr(fd), "inotify"), what: what, on: on, quiet: quiet, ended: make(chan struct{}),
		armed: map[int32]decoy{}, timers: map[decoy]*time.Timer{}}
	for host, name := range files {
		if err := w.arm(decoy{host, name}); err != nil {
			w.inotify.Close()
			return nil, err
		}
	}
	go w.run()
	return w, nil
}

// arm asks for the next opening. IN_ACCESS is for a descriptor that was opened while
// nothing was asked for.
func (w *Watcher) arm(d decoy) error {
	conn, err := w.inotify.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch decoy %s: %w", d.name, err)
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		wd, err := unix.InotifyAddWatch(int(fd), d.host, w.what|unix.IN_ONESHOT|unix.IN_DONT_FOLLOW)
		if failed = err; err == nil {
			w.armed[int32(wd)] = d
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("watch decoy %s: inotify: %w", d.name, err)
	}
	return nil
}

// run reads events until it is told to end, and then what is there.
func (w *Watcher) run() {
	defer close(w.ended)
	buf := make([]byte, 4096)
	for {
		n, err := w.inotify.Read(buf)
		if err != nil {
			break
		}
		w.tell(buf[:n])
	}
	conn, err := w.inotify.SyscallConn()
	if err != nil {
		return
	}
	conn.Control(func(fd uintptr) {
		for {
			n, err := unix.Read(int(fd), buf)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				return
			}
			w.tell(buf[:n])
		}
	})
}

// tell tells of the reads among events.
func (w *Watcher) tell(b []byte) {
	now := time.Now()
	for len(b) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		b = b[min(len(b), unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:]))):]
		if mask&(unix.IN_OPEN|unix.IN_ACCESS) == 0 {
			continue
		}
		if d, ok := w.rest(wd); ok {
			w.on(Read{d.name, now})
		}
	}
}

// rest takes a watch that has ended, and sees to it that there is a new one in time.
func (w *Watcher) rest(wd int32) (decoy, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, ok := w.armed[wd]
	if !ok {
		return decoy{}, false
	}
	delete(w.armed, wd)
	if !w.closed {
		w.timers[d] = time.AfterFunc(w.quiet, func() { w.again(d) })
	}
	return d, true
}

// again arms a decoy once more. If that fails, as it may when the user has no watches
// left, it is tried again.
func (w *Watcher) again(d decoy) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if err := w.arm(d); err != nil {
		w.timers[d] = time.AfterFunc(w.quiet, func() { w.again(d) })
	}
}

// Close ends the watch. What was read until now is told before it returns, and nothing
// after that. It waits for on, which must not call it.
func (w *Watcher) Close() error {
	w.mu.Lock()
	w.closed = true
	for _, t := range w.timers {
		t.Stop()
	}
	w.mu.Unlock()
	w.inotify.SetReadDeadline(time.Now())
	<-w.ended
	sys.CloseWatches(w.inotify)
	return nil
}
