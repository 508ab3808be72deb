package far

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/link"
)

// source is what a process prints to, at the far end: the end of a pipe, or of a terminal.
type source struct {
	file   *os.File // can be waited for
	stream *link.Stream
	over   chan struct{} // closed by caughtUp
	total  int64         // set before caught is closed
	caught chan struct{} // closed when all was sent that was there when caughtUp was called
	once   sync.Once
}

func newSource(f *os.File, s *link.Stream) *source {
	o := &source{file: f, stream: s, over: make(chan struct{}), caught: make(chan struct{})}
	go o.run()
	return o
}

func (o *source) run() {
	defer o.file.Close() // if nobody takes it, who prints hears of that
	var sum int64
	caught := func() { o.once.Do(func() { o.total = sum; close(o.caught) }) }
	defer caught()
	buf := make([]byte, chunk)
	for {
		n, err := o.file.Read(buf)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		for n > 0 || late {
			if late && n == 0 {
				if n = readNow(o.file, buf); n == 0 {
					break
				}
			}
			if _, err := o.stream.Write(buf[:n]); err != nil {
				return
			}
			sum, n = sum+int64(n), 0
		}
		switch {
		case late:
			caught()
			o.file.SetReadDeadline(time.Time{})
		case errors.Is(err, unix.EIO) && o.reopens():
		case err != nil:
			o.stream.CloseWrite()
			return
		}
	}
}

// reopens waits a moment for somebody to open a terminal again that nobody has open. It
// says whether there is still somebody who could.
func (o *source) reopens() bool {
	select {
	case <-o.over:
		return false
	case <-time.After(reopenedAfter):
		return true
	}
}

const reopenedAfter = 50 * time.Millisecond

// readNow reads what is there, without waiting.
func readNow(f *os.File, buf []byte) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		for {
			if n, err = unix.Read(int(fd), buf); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	return max(n, 0)
}

// caughtUp waits until what was printed by now has been sent, and says how much it was. It
// is called once, when the process has ended. Once cut is closed nobody waits for it.
func (o *source) caughtUp(cut <-chan struct{}) int64 {
	if o == nil {
		return 0
	}
	close(o.over)
	o.file.SetReadDeadline(time.Now())
	select {
	case <-o.caught:
		return o.total
	case <-cut:
		return 0
	}
}

// pollable is a file that can be waited for, instead of f.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	f.Close()
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// feed carries a stream into a file, and closes both.
func feed(f *os.File, s *link.Stream) {
	s.WriteTo(f)
	f.Close()
	s.Close()
}
