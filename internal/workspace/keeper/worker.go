package keeper

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/notify"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// worker is one thread that serves calls.
type worker struct {
	*Keeper
	call notify.Call
	buf  [4096]byte
	fds  []int // closed after each call
}

// work serves until nobody is left inside. The thread is given up with it: its
// umask and capabilities are its own.
func (k *Keeper) work(ready chan<- error) {
	defer k.done.Done()
	runtime.LockOSThread()
	err := confine()
	ready <- err
	if err != nil {
		return
	}
	w := &worker{Keeper: k}
	for {
		if err := k.calls.Receive(&w.call); err != nil {
			if !errors.Is(err, notify.ErrEnded) {
				k.conf.Failed(err)
			}
			return
		}
		w.serve()
		w.closeAll()
	}
}

// confine makes this thread as weak as the agent: modes are made by the caller's
// umask and not by ours, and root without capabilities is a user like others.
func confine() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("keeper: unshare: %w", err)
	}
	unix.Umask(0)
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("keeper: drop capabilities: %w", err)
	}
	return nil
}

// own remembers a descriptor to be closed after the call.
func (w *worker) own(fd int) int {
	w.fds = append(w.fds, fd)
	return fd
}

func (w *worker) closeAll() {
	for _, fd := range w.fds {
		unix.Close(fd)
	}
	w.fds = w.fds[:0]
}

func (w *worker) serve() {
	if w.made.some() {
		w.lookOwn(true)
	}
	if w.public.some() {
		w.tryPublish()
	}
	do := handlers[w.call.Nr]
	if w.conf.Asked != nil && w.note() || do == nil {
		w.calls.Continue(&w.call)
		return
	}
	do(w)
}

// answer ends a call by the outcome of what was done for it.
func (w *worker) answer(err error) {
	var errno unix.Errno
	switch {
	case err == nil:
		w.calls.Return(&w.call, 0)
	case errors.Is(err, errContinue):
		w.calls.Continue(&w.call)
	case errors.Is(err, errYoung):
		w.calls.Fail(&w.call, unix.EBUSY)
	case errors.Is(err, errRetry):
		w.calls.Fail(&w.call, unix.EAGAIN)
	case errors.As(err, &errno):
		w.calls.Fail(&w.call, errno)
	case errors.Is(err, undo.ErrFull):
		w.full.Do(func() { w.conf.Failed(err) })
		w.calls.Fail(&w.call, unix.ENOSPC)
	default:
		w.conf.Failed(err)
		w.calls.Fail(&w.call, unix.EIO)
	}
}

// errRetry says that what was found is something else by now.
var errRetry = errors.New("it changed meanwhile")

// errYoung says that a file is too young yet; who waits a little may have it.
var errYoung = errors.New("the host made it a moment ago")

// errContinue hands a call back to the kernel, which finds the read-only mount if
// it leads into a tree.
var errContinue = errors.New("not the keeper's")
