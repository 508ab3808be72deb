package run

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// streams decides what the agent gets for its three descriptors. A terminal never
// comes inside: the agent gets one of its own and the supervisor relays. A pipe
// and the null device are handed in as they are. Anything else (a file, a socket)
// is pumped through a pipe of ours, because an open file can be opened again, with
// other rights, through /proc/self/fd.
type streams struct {
	tty     uint8       // bit n: descriptor n is a terminal
	files   [3]*os.File // what goes inside
	own     []*os.File  // our copies of pipe ends that went inside
	outputs sync.WaitGroup
	in, out *os.File // the user's terminal, if any
}

func openStreams(std [3]*os.File) (*streams, error) {
	s := &streams{}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	s.own = append(s.own, null)
	for n, f := range std {
		if err := s.add(n, f, null); err != nil {
			s.closeInside()
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

func (s *streams) add(n int, f, null *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		s.files[n] = null // closed by the launcher: the agent finds the null device there
		return nil
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fault.New(fault.Refused, "give a file, a pipe or a terminal", "descriptor %d is a directory: it would let the agent open everything below it", n)
	case unix.S_IFIFO:
		s.files[n] = f
		return nil
	case unix.S_IFCHR:
		if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err == nil {
			s.tty |= 1 << n
			s.files[n] = null
			return nil
		}
		if st.Rdev == unix.Mkdev(1, 3) {
			s.files[n] = f
			return nil
		}
	}
	return s.pump(n, f)
}

// pump puts a pipe of ours between the agent and f.
func (s *streams) pump(n int, f *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	if n == 0 {
		s.files[0] = r
		s.own = append(s.own, r)
		go func() { // ends with the agent: writing to a pipe without reader fails
			io.Copy(w, f)
			w.Close()
		}()
		return nil
	}
	s.files[n] = w
	s.own = append(s.own, w)
	s.outputs.Go(func() {
		io.Copy(f, r)
		r.Close()
	})
	return nil
}

// closeInside closes our copies of what went inside, so that pipes end when the
// agent ends them.
func (s *streams) closeInside() {
	for _, f := range s.own {
		f.Close()
	}
	s.own = nil
}

// drain waits until everything the agent wrote has been passed on. Nothing of it
// lives any more, so the pipes have ended.
func (s *streams) drain() { s.outputs.Wait() }
