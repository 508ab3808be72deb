package keeper

import (
	"bytes"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// umasks remembers the umask of callers: to ask proc for it costs more than most
// of what it is needed for. A number that another process has by now may give that
// one a wrong mode, and nothing worse.
type umasks struct {
	mu sync.Mutex
	of map[uint32]uint32
}

const maxUmasks = 4096

// mode is what the caller would have got.
func (w *worker) mode(mode uint32) uint32 { return mode & 0o1777 &^ w.masks.get(w) }

func (u *umasks) get(w *worker) uint32 {
	u.mu.Lock()
	m, ok := u.of[w.call.PID]
	u.mu.Unlock()
	if ok {
		return m
	}
	if m, ok = w.readUmask(); !ok {
		return w.conf.Umask
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil || len(u.of) >= maxUmasks {
		u.of = map[uint32]uint32{}
	}
	u.of[w.call.PID] = m
	return m
}

func (w *worker) readUmask() (uint32, bool) {
	m, ok := w.status("Umask:\t", 8)
	return uint32(m), ok
}

// leader is the process of the calling thread.
func (w *worker) leader() (int, error) {
	n, ok := w.status("Tgid:\t", 10)
	if !ok {
		return 0, unix.ESRCH
	}
	return int(n), nil
}

// status reads one number of the caller's status.
func (w *worker) status(key string, base int) (uint64, bool) {
	fd, err := unix.Openat(w.proc, itoa(int(w.call.PID))+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var b [512]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(b[:n], []byte(key))
	line, _, ended := bytes.Cut(rest, []byte("\n"))
	m, err := strconv.ParseUint(string(line), base, 32)
	return m, ok && ended && err == nil
}

// umask forgets what is known: threads and children share or copy it.
func (w *worker) umask() {
	w.masks.mu.Lock()
	w.masks.of = nil
	w.masks.mu.Unlock()
	w.calls.Continue(&w.call)
}
