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
func (r *request) mode(mode uint32) uint32 { return mode & 0o1777 &^ r.masks.get(r) }

func (u *umasks) get(r *request) uint32 {
	u.mu.Lock()
	m, ok := u.of[r.call.PID]
	u.mu.Unlock()
	if ok {
		return m
	}
	if m, ok = r.readUmask(); !ok {
		return r.conf.Umask
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil || len(u.of) >= maxUmasks {
		u.of = map[uint32]uint32{}
	}
	u.of[r.call.PID] = m
	return m
}

func (r *request) readUmask() (uint32, bool) {
	m, ok := r.status("Umask:\t", 8)
	return uint32(m), ok
}

// leader is the process of the calling thread.
func (r *request) leader() (int, error) {
	n, ok := r.status("Tgid:\t", 10)
	if !ok {
		return 0, unix.ESRCH
	}
	return int(n), nil
}

// status reads one number of the caller's status.
func (r *request) status(key string, base int) (uint64, bool) {
	fd, err := unix.Openat(r.proc, itoa(int(r.call.PID))+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
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
func (r *request) umask() {
	r.masks.mu.Lock()
	r.masks.of = nil
	r.masks.mu.Unlock()
	r.pass()
}
