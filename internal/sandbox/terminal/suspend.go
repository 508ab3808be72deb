package terminal

import (
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// Suspend is to be called when the agent has stopped (Ctrl-Z). It returns at
// once; the relay then gives the terminal back, stops the whole job, so that the
// user's shell takes over, and when the user brings the job back takes the
// terminal again and tells OnSignal of SIGCONT. If nobody could bring the job
// back (no shell with job control waits for it) the kernel does not stop it, and
// SIGCONT follows at once.
//
// For Ctrl-Z to stop the agent in the first place its process group must not be
// orphaned: the first process inside leads the session of the pty, and the agent
// is a process group of that session, in its foreground.
func (r *Relay) Suspend() { r.bell.ring(suspended) }

// drainLimit is how much output may precede the stop; a background process that
// prints without end must not delay it.
const drainLimit = 1 << 20

func (r *Relay) suspend() error {
	// An agent that stops itself has first printed what leaves its screen.
	_ = r.last()
	r.leave()
	StopJob()
	if err := r.enter(); err != nil {
		return err
	}
	r.tell(unix.SIGCONT)
	return nil
}

// StopJob stops our process group as Ctrl-Z would have, and returns when it has
// been continued. First the others are stopped (a pager behind us, a script
// around us) while we ignore the signal; then this very thread sends it to
// itself and cannot return from that call before it has been handled, so that
// nothing of ours touches the terminal when it is the shell's again.
func StopJob() {
	if signal.Ignored(unix.SIGTSTP) { // started so, by who does not want jobs to stop
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handled := setAction(unix.SIGTSTP, ignoreAction)
	_ = unix.Kill(0, unix.SIGTSTP)
	setAction(unix.SIGTSTP, defaultAction)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTSTP)
	setAction(unix.SIGTSTP, handled)
}

// enter takes the terminal: its size, and if the job is in the foreground raw
// mode and the modes that the agent had on.
func (r *Relay) enter() error {
	if err := r.resize(); err != nil {
		return err
	}
	back := r.left // what the agent has on is not, or not all
	if r.in >= 0 {
		back = back || !r.front
		r.front = foreground(r.in)
		r.filter.answered = r.front // in the background the shell would read the answers
		if !r.front {
			return nil
		}
		if err := r.raw(); err != nil {
			return err
		}
	}
	if !back {
		return nil
	}
	r.left = false
	if r.owes { // a paste whose rest was thrown away: for the agent it ends here
		r.owes = false
		r.keys = append(r.keys, PasteEnd...)
	}
	return r.filter.Return()
}

func (r *Relay) raw() error {
	if r.saved == nil {
		saved, err := unix.IoctlGetTermios(r.in, unix.TCGETS)
		if err != nil {
			return ErrHangup
		}
		r.saved = saved
	}
	if setTermios(r.in, rawMode(*r.saved)) != nil {
		return ErrHangup
	}
	return nil
}
