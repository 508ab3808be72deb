package terminal

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// event is something the relay has to attend to besides bytes. Events of one
// kind that come together count as one.
type event uint32

const (
	cancelled event = 1 << iota // the context is done
	hungUp                      // SIGHUP
	resized                     // SIGWINCH
	continued                   // SIGCONT
	stopAsked                   // SIGTSTP from outside
	suspended                   // Suspend was called
	noted                       // Notify was called
	lastCall                    // Finish was called
)

// heeded are the signals that the relay handles itself.
var heeded = map[os.Signal]event{
	unix.SIGHUP:   hungUp,
	unix.SIGWINCH: resized,
	unix.SIGCONT:  continued,
	unix.SIGTSTP:  stopAsked,
}

// bell wakes the relay out of its poll.
type bell struct {
	file  *os.File // an eventfd; a File, so that a late ring never hits another descriptor
	fd    int
	rings atomic.Uint32
}

func newBell() (*bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &bell{file: os.NewFile(uintptr(fd), "eventfd"), fd: fd}, nil
}

// ring may be called at any time, also when the relay has ended.
func (b *bell) ring(e event) {
	b.rings.Or(uint32(e))
	_, _ = b.file.Write(binary.NativeEndian.AppendUint64(nil, 1))
}

// answer returns what has been rung for since the last call.
func (b *bell) answer() event {
	var count [8]byte
	_, _ = unix.Read(b.fd, count[:])
	return event(b.rings.Swap(0))
}

// listen rings for signals and for the end of ctx until stop is called.
func (b *bell) listen(ctx context.Context, signals chan os.Signal) (stop func()) {
	for s := range heeded {
		if !signal.Ignored(s) { // nohup, or a shell without job control
			signal.Notify(signals, s)
		}
	}
	go func() {
		for s := range signals {
			b.ring(heeded[s])
		}
	}()
	unhook := context.AfterFunc(ctx, func() { b.ring(cancelled) })
	return func() {
		unhook()
		signal.Stop(signals)
		close(signals)
	}
}
