package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// Streams decides what the agent gets for its three descriptors. A terminal never
// comes inside: the agent gets one of its own and the supervisor relays. Everything
// else is pumped through a pipe of ours. What is open can be opened again through
// /proc/self/fd with other rights: a file written that was given to be read, a pipe
// read that was given to be written, so that the agent could feed the script around
// it. The price is that standard input is read ahead, as ssh does.
type Streams struct {
	tty     uint8       // bit n: descriptor n is a terminal
	files   [3]*os.File // what goes inside
	own     []*os.File  // our copies of what went inside
	in, out *os.File    // the user's terminal, if any
	std     [3]*os.File // what the user gave

	sources []*os.File // our ends of the pipes the agent writes to
	pumps   sync.WaitGroup
	mu      sync.Mutex
	lost    error // the first output that could not be written
}

// OpenStreams stands between the agent and what the user gave.
func OpenStreams(std [3]*os.File) (*Streams, error) {
	s := &Streams{std: std}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	s.own = append(s.own, null)
	for n, f := range std {
		if err := s.add(n, f, null); err != nil {
			s.CloseInside()
			return nil, err
		}
	}
	if s.tty&1 != 0 {
		s.in = std[0]
	}
	for _, n := range []int{1, 2, 0} {
		if s.tty&(1<<n) != 0 {
			s.out = std[n]
			break
		}
	}
	return s, nil
}

func (s *Streams) add(n int, f, null *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		s.files[n] = null // closed by the launcher: the agent finds the null device there
		return nil
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return fault.New(fault.Refused, "give a file, a pipe or a terminal", "descriptor %d is a directory: it would let the agent open everything below it", n)
	case st.Mode&unix.S_IFMT != unix.S_IFCHR:
	case st.Rdev == unix.Mkdev(1, 3):
		s.files[n] = null
		return nil
	default:
		if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err == nil {
			s.tty |= 1 << n
			s.files[n] = null
			return nil
		}
	}
	return s.pump(n, f)
}

// pump puts a pipe of ours between the agent and f.
func (s *Streams) pump(n int, f *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	if n == 0 {
		// As little ahead as a pipe allows: what the agent does not read, the
		// script around us may want.
		unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
		s.files[0], s.own = r, append(s.own, r)
		go func() { // ends with the agent: writing to a pipe without reader fails
			io.CopyBuffer(onlyWriter{w}, onlyReader{f}, make([]byte, 4<<10))
			w.Close()
		}()
		return nil
	}
	s.files[n], s.own, s.sources = w, append(s.own, w), append(s.sources, r)
	s.pumps.Go(func() { s.carry(f, r) })
	return nil
}

// Copies are made with a buffer of ours: the shortcuts of package io would move
// bytes in the kernel, and then no deadline can end them.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)

// carry passes on what the agent writes until nobody can write any more, or the
// sandbox has ended and the pipe is empty: the agent may have handed its end to a
// process of another session.
func (s *Streams) carry(to, from *os.File) {
	defer from.Close()
	_, err := io.CopyBuffer(onlyWriter{to}, onlyReader{from}, make([]byte, 64<<10))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = drainPipe(to, from)
	}
	if err != nil && !errors.Is(err, unix.EPIPE) {
		s.mu.Lock()
		s.lost = errors.Join(s.lost, err)
		s.mu.Unlock()
	}
}

func drainPipe(to, from *os.File) error {
	conn, err := from.SyscallConn()
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	var fail error
	err = conn.Control(func(fd uintptr) {
		for {
			n, err := unix.Read(int(fd), buf)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				return
			}
			if _, fail = to.Write(buf[:n]); fail != nil {
				return
			}
		}
	})
	return errors.Join(err, fail)
}

// TTY says which descriptors are a terminal.
func (s *Streams) TTY() uint8 { return s.tty }

// Inside are the files that go inside.
func (s *Streams) Inside() []*os.File { return s.files[:] }

// Terminal is the user's terminal, to read from and to write to; nil where there is none.
func (s *Streams) Terminal() (in, out *os.File) { return s.in, s.out }

// Mute gives up on a terminal that takes no output: what would be written to it goes
// nowhere, for to wait would keep a session from ending. It is called last.
func (s *Streams) Mute() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(null)
	for n, f := range s.std[1:] {
		if s.tty&(2<<n) != 0 {
			unix.Dup3(null, int(f.Fd()), 0)
		}
	}
}

// CloseInside closes our copies of what went inside, so that pipes end when the
// agent ends them.
func (s *Streams) CloseInside() {
	for _, f := range s.own {
		f.Close()
	}
	s.own = nil
}

// errUnread means that output was given up.
var errUnread = errors.New("who reads it takes nothing")

// unreadGrace is how long a reader that takes nothing is waited for once somebody wants
// the session to end.
const unreadGrace = 2 * time.Second

// Drain is called when the sandbox has ended: it waits until everything that was
// written has been passed on, and returns what could not be. A reader may take its time,
// as a pager does, until told is closed.
func (s *Streams) Drain(told <-chan struct{}) error {
	for _, r := range s.sources {
		r.SetReadDeadline(time.Now())
	}
	passed := make(chan struct{})
	go func() {
		s.pumps.Wait()
		close(passed)
	}()
	select {
	case <-passed:
		return s.lost
	case <-told:
	}
	select {
	case <-passed:
		return s.lost
	case <-time.After(unreadGrace):
		return errUnread
	}
}
