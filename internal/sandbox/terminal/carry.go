package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mayRead holds where there is room for keys. Where a key may mean that the user leaves,
// it must be seen also behind what an agent that hangs does not take.
func (r *Relay) mayRead() bool {
	return len(r.keys) == 0 || (r.conf.Keys != nil || r.open != nil) && len(r.keys) < keyLimit
}

// readKeys reads what the user typed. In raw mode a terminal has no end of file:
// nothing to read where the poll promised something means that it is gone.
func (r *Relay) readKeys() error {
	n, err := unix.Read(r.in, r.typed)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil && err != unix.EIO:
		return fmt.Errorf("read %s: %w", r.conf.In.Name(), err)
	case err != nil || n == 0:
		return ErrHangup
	}
	if r.open != nil {
		r.listen(r.typed[:n])
		return nil
	}
	ends := r.pastes.ends
	defer func() { r.noteLines(r.typed[:n], ends) }()
	for rest := r.typed[:n]; len(rest) > 0; {
		n, pasted := r.pastes.Scan(rest, r.filter.marks, r.filter.traces.mode(bracketedPaste))
		pass, leave := rest[:n], false
		if r.conf.Keys != nil {
			pass, leave = r.conf.Keys(pass, pasted)
		}
		if r.calls {
			var opens bool
			if pass, opens = r.prefix.Run(pass, pasted); opens {
				r.called()
			}
		}
		r.keys = append(r.keys, pass...)
		if leave {
			r.writeKeys()
			return ErrLeft
		}
		rest = rest[n:]
	}
	return nil
}

// noteLines remembers when several lines came at once, which nobody types. A paste that
// was marked and has ended is over.
func (r *Relay) noteLines(typed []byte, ends int) {
	switch {
	case r.pastes.ends != ends:
		r.bulk = time.Time{}
	case bytes.ContainsAny(typed[:len(typed)-1], "\r\n"):
		r.bulk = time.Now()
	}
}

// writeKeys passes keys on to the agent; those typed after its end are lost.
func (r *Relay) writeKeys() {
	n, err := unix.Write(r.master, r.keys)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil:
		r.keys = r.keys[:0]
	default:
		r.keys = r.keys[:copy(r.keys, r.keys[n:])]
	}
}

// readMaster reads what the agent printed and reports whether there was
// anything. EIO is how Linux says that the last holder of the other side has
// closed it and all was read.
func (r *Relay) readMaster() (more bool, err error) {
	n, err := unix.Read(r.master, r.buf)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return err == unix.EINTR, nil
	case err == unix.EIO || err == nil && n == 0:
		r.ended = true
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read the pty: %w", err)
	}
	r.drew = true
	r.remember(r.buf[:n])
	before := r.filter.asked
	_, err = r.filter.Write(r.buf[:n])
	if r.filter.asked != before {
		r.lastAsk = time.Now()
	}
	return true, err
}

// tailLimit is how much of what was printed last is remembered.
const tailLimit = 4 << 10

func (r *Relay) remember(p []byte) {
	if over := len(r.tail) + len(p) - tailLimit; over > 0 {
		r.tail = append(r.tail[:0], r.tail[min(over, len(r.tail)):]...)
	}
	r.tail = append(r.tail, p[max(0, len(p)-tailLimit):]...)
}

// Tail is the text that the agent printed last. It is to be called when Run has returned.
func (r *Relay) Tail() string {
	var text strings.Builder
	(&Plain{W: &text}).Write(r.tail)
	return text.String()
}

// reopened looks whether somebody inside has opened the pty again, where the relay stays.
func (r *Relay) reopened() error {
	if !r.ended || len(r.pending) > 0 {
		return nil
	}
	r.ended = false
	_, err := r.readMaster()
	return err
}

// writeOut writes what the terminal takes at once.
func (r *Relay) writeOut() error {
	n, err := unix.Write(r.out, r.pending)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err == unix.EIO:
		return ErrHangup
	case err != nil:
		return fmt.Errorf("write %s: %w", r.conf.Out.Name(), err)
	}
	r.pending = r.pending[:copy(r.pending, r.pending[n:])]
	return nil
}

// push writes all that is pending, if the terminal takes some of it in time.
func (r *Relay) push() error {
	for len(r.pending) > 0 {
		if !ready(r.out, unix.POLLOUT, time.Now().Add(r.patience)) {
			return ErrStuck
		}
		if err := r.writeOut(); err != nil {
			return err
		}
	}
	return nil
}

// last carries what the agent has printed until now, if the terminal takes it in time. An
// agent that prints without end is not waited for.
func (r *Relay) last() error {
	if r.conf.Stays {
		r.ended = false // somebody may have opened the pty again and printed more
	}
	for left := drainLimit; left > 0 && !r.ended; left -= outLimit {
		if err := r.push(); err != nil {
			return err
		}
		if more, err := r.readMaster(); err != nil || !more {
			break
		}
	}
	return r.push()
}

// Finish ends the relay: what has been printed is still shown, and nothing after it. It
// may be called at any time, from any goroutine.
func (r *Relay) Finish() { r.bell.ring(lastCall) }

// ready waits until fd can be read or written, or is gone, or time is up.
func ready(fd int, what int16, until time.Time) bool {
	for {
		left := time.Until(until)
		if left <= 0 {
			return false
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: what}}
		n, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if err == nil && n > 0 {
			return true
		}
		if err != nil && err != unix.EINTR {
			return false
		}
	}
}
