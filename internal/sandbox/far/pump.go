package far

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/link"
)

// pumps carry bytes between the descriptors of a process and their streams, at the near end.
type pumps struct {
	told *os.File // closed when nothing is read for it any more; nil: nothing is
	once sync.Once

	mu      sync.Mutex
	changed sync.Cond
	printed map[string]int64 // by stream: what was passed on
	ended   map[string]bool  // by stream: nothing follows
}

func newPumps() *pumps {
	p := &pumps{printed: map[string]int64{}, ended: map[string]bool{}}
	p.changed.L = &p.mu
	return p
}

const chunk = 32 << 10

// out carries what the process prints to a file, of which it takes a copy.
func (p *pumps) out(s *link.Stream, f *os.File) error {
	own, err := dup(f)
	if err != nil {
		return err
	}
	go p.carry(s, own)
	return nil
}

func (p *pumps) carry(s *link.Stream, to *os.File) {
	of := s.Header().(link.Stdio).Of
	defer to.Close()
	buf := make([]byte, chunk)
	for {
		n, err := s.Read(buf)
		if err == nil {
			_, err = to.Write(buf[:n])
		}
		p.mu.Lock()
		p.printed[of] += int64(n)
		p.ended[of] = err != nil
		p.changed.Broadcast()
		p.mu.Unlock()
		if err != nil {
			s.Close() // if nobody reads it, the process hears of that
			return
		}
	}
}

// in carries a file, of which it takes a copy, to the process. The file may be shared with
// others, and a read of it without an end: so nothing is read before something is there.
func (p *pumps) in(f *os.File, s *link.Stream) error {
	own, err := dup(f)
	if err != nil {
		return err
	}
	stop, told, err := os.Pipe()
	if err != nil {
		own.Close()
		return err
	}
	p.told = told
	go func() {
		defer own.Close()
		defer stop.Close()
		defer s.CloseWrite()
		buf := make([]byte, 4<<10) // as little ahead as it may
		for ready(int(own.Fd()), int(stop.Fd())) {
			n, err := own.Read(buf)
			if n > 0 {
				if _, err := s.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return nil
}

// ready waits until a descriptor can be read; false: it was told to stop.
func ready(fd, stop int) bool {
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(stop), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(polled, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && polled[1].Revents == 0
	}
}

// terminal makes a socket for who has the other end of a terminal.
func (p *pumps) terminal(s *link.Stream) (*os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	unix.SetNonblock(fds[1], true) // so that Close ends a Read
	own := os.NewFile(uintptr(fds[1]), "terminal")
	go p.carry(s, own)
	go func() {
		io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{own}, make([]byte, chunk))
		s.CloseWrite()
	}()
	return os.NewFile(uintptr(fds[0]), "terminal"), nil
}

// drained waits until what was printed has been passed on, or ctx is done.
func (p *pumps) drained(ctx context.Context, n *link.Printed) {
	if n == nil {
		return
	}
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})()
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, want := range map[string]int64{link.Stdout: n.Out, link.Stderr: n.Err, link.Terminal: n.Terminal} {
		for p.printed[of] < want && !p.ended[of] && ctx.Err() == nil {
			p.changed.Wait()
		}
	}
}

// end stops what reads for the process.
func (p *pumps) end() {
	p.once.Do(func() {
		if p.told != nil {
			p.told.Close()
		}
	})
}

func dup(f *os.File) (*os.File, error) {
	if f == nil {
		return nil, errNoFile
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
