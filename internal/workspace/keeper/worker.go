package keeper

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/undo"
)

// opened are descriptors that are closed when a piece of work is done.
type opened struct{ fds []int }

// work is one piece of work on the trees of the host and on their layers: for a call, or
// for the keeper itself.
type work struct {
	*Keeper
	opened
}

// request is a call of a program inside, which waits for its answer.
type request struct {
	work
	call notice
	buf  [4096]byte
}

// worker is one thread that serves calls.
type worker struct{ request }

// serve serves calls until nobody is left inside. The thread is given up with it: its
// umask and capabilities are its own.
func (k *Keeper) serve(begun func(error)) {
	defer k.count.Add(-1)
	runtime.LockOSThread()
	err := confine()
	begun(err)
	if err != nil {
		return
	}
	w := &worker{request{work: work{Keeper: k}}}
	for {
		k.free.Add(1)
		err := k.calls.Receive(&w.call)
		if k.free.Add(-1) == 0 && err == nil {
			k.another()
		}
		if err != nil {
			if !errors.Is(err, errEnded) {
				k.conf.Failed(err)
			}
			return
		}
		w.answerNext()
		w.closeAll()
	}
}

// another begins one more worker. Where it cannot be made as weak as it has to be, those that
// are there go on, and the next call tries again.
func (k *Keeper) another() {
	if k.count.Add(1) > workers {
		k.count.Add(-1)
		return
	}
	k.done.Go(func() {
		k.serve(func(err error) {
			if err != nil {
				k.conf.Failed(err)
			}
		})
	})
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
func (o *opened) own(fd int) int {
	o.fds = append(o.fds, fd)
	return fd
}

func (o *opened) closeAll() {
	for _, fd := range o.fds {
		unix.Close(fd)
	}
	o.fds = o.fds[:0]
}

func (w *worker) answerNext() {
	if w.made.some() {
		w.lookOwn(true)
	}
	if w.public.some() {
		w.tryPublish()
	}
	do := handlers[w.call.Nr]
	switch {
	case w.refuse():
	case w.conf.Asked != nil && w.note():
		w.pass()
	case do == nil: // no filter of ours hands it over
		w.calls.Fail(&w.call, unix.EPERM)
	default:
		do(w)
	}
}

// pass hands the call back to the kernel.
func (r *request) pass() { r.calls.Continue(&r.call) }

// valid says whether the call still waits: only then is what was read from it true.
func (r *request) valid() bool { return r.calls.Valid(&r.call) }

// answer ends a call by the outcome of what was done for it.
func (r *request) answer(err error) {
	var errno unix.Errno
	switch {
	case err == nil:
		r.calls.Return(&r.call, 0)
	case errors.Is(err, errContinue):
		r.pass()
	case errors.Is(err, errRecent):
		r.calls.Fail(&r.call, unix.EBUSY)
	case errors.Is(err, errRetry):
		r.calls.Fail(&r.call, unix.EAGAIN)
	case errors.As(err, &errno):
		r.calls.Fail(&r.call, errno)
	case errors.Is(err, undo.ErrFull):
		r.full.Do(func() { r.conf.Failed(err) })
		r.calls.Fail(&r.call, unix.ENOSPC)
	default:
		r.conf.Failed(err)
		r.calls.Fail(&r.call, unix.EIO)
	}
}

// errRetry says that what was found is something else by now.
var errRetry = errors.New("it changed meanwhile")

// errRecent says that a file is too new yet; who waits a little may have it.
var errRecent = errors.New("the host made it a moment ago")

// errContinue hands a call back to the kernel, which finds the read-only mount if
// it leads into a tree.
var errContinue = errors.New("not the keeper's")
