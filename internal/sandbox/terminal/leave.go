package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// typedLately is how long after the last key a paste may still be under way that
	// nothing marks.
	typedLately = 5 * time.Second
	// settled is how long nothing may come once the terminal has answered. Answers can
	// be part of what was pasted, and then more follows at once.
	settled = 50 * time.Millisecond
	// Nobody types more at once, or faster.
	typedAtOnce = 16
	typedFast   = 30 * time.Millisecond
	// stalls is how many times longer a terminal may be silent that has more to send.
	stalls = 10
)

// leave gives the terminal back. What was typed, pasted or answered and did not reach
// the agent is thrown away: it was meant for the agent, and the next who reads is a
// shell, which would run it. Errors are of no use here: a terminal that is gone needs
// nothing.
func (r *Relay) leave() {
	r.left = true
	drawn := len(r.pending)
	chatty, _ := r.filter.Leave()
	undo := slices.Clone(r.pending[drawn:])
	err := r.push()
	if errors.Is(err, ErrStuck) {
		r.force(undo)
	}
	if r.saved == nil {
		return
	}
	if foreground(r.in) {
		r.owes = r.pastes.open
		if chatty || r.expectsMore() {
			r.tellLost(r.swallow(err == nil && !r.dumb))
		}
		_ = unix.IoctlSetInt(r.in, unix.TCFLSH, unix.TCIFLUSH)
		_ = setTermios(r.in, r.saved)
	}
	r.saved, r.front, r.filter.answered = nil, false, false
}

// force takes back what a terminal that hangs has not read yet, as far as the kernel lets
// us (all but 4096 bytes): what the agent asks in it would be answered to the shell. The
// room is for what gives the terminal back, after the end of a sequence that was cut.
func (r *Relay) force(undo []byte) {
	if !foreground(r.out) {
		return
	}
	_ = unix.IoctlSetInt(r.out, unix.TCFLSH, unix.TCOFLUSH)
	r.pending = append(append(r.pending[:0], can, esc, '\\'), undo...)
	_ = r.push()
	r.pending = r.pending[:0]
}

// expectsMore holds where something may be on its way from the terminal.
func (r *Relay) expectsMore() bool {
	return r.pastes.open || len(r.keys) > 0 || time.Since(r.lastAsk) < askedLately ||
		time.Since(r.pastes.last) < typedLately || ready(r.in, unix.POLLIN, time.Now().Add(time.Millisecond))
}

// lost is what was thrown away.
type lost struct {
	bytes int
	lines bool // a shell would have run some of it
}

// swallow reads and throws away what is on its way: the rest of a paste, answers, mouse
// reports. A terminal sends in order, so we ask for its status, and all that comes before
// the answer is of the time before. The agent may have asked for the status too, then as
// many answers come first. Where nobody answers, silence is the end (see silence), or that
// nothing came for a while but what somebody types; of a paste that was marked, its mark
// or silence is, however slowly it comes: to give up in the middle would be to let the
// rest of it be run.
func (r *Relay) swallow(ask bool) (l lost) {
	if ask {
		r.pending = append(r.pending, "\x1b[5n"...)
		ask = r.push() == nil
	}
	if ask {
		r.filter.status++
	}
	var buf [4096]byte
	rest := bytes.ContainsAny(r.keys, "\r\n") || time.Since(r.bulk) < typedLately // of a paste whose end is not seen yet
	pasted, last := time.Now(), time.Time{}                                       // when something came that nobody types, or anything
	for {
		end := time.Now().Add(r.silence(ask, rest))
		if most := pasted.Add(stalls * r.patience); end.After(most) && !r.midPaste(ask) {
			end = most // whoever goes on typing is not waited for
		}
		if !ready(r.in, unix.POLLIN, end) {
			break
		}
		n, err := unix.Read(r.in, buf[:])
		if err == unix.EAGAIN || err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		ends, lines := r.pastes.ends, bytes.ContainsAny(buf[:n], "\r\n")
		r.pastes.Follow(buf[:n], r.filter.marks)
		l.bytes += n
		l.lines = l.lines || lines
		now := time.Now()
		bulk := n > typedAtOnce || now.Sub(last) < typedFast
		if last = now; bulk {
			pasted = now
		}
		rest = r.pastes.ends == ends && (rest || lines && bulk)
	}
	r.pastes.open, r.pastes.within = false, 0
	r.pastes.status = r.filter.status // what was not answered until now is not waited for again
	return l
}

// silence is how long nothing may come before that is taken for the end. A line to a
// terminal far away pauses for longer than a shell should be waited for: where something
// says that more comes, it is waited for.
func (r *Relay) silence(ask bool, rest bool) time.Duration {
	answered := ask && r.pastes.status >= r.filter.status
	switch {
	case answered && !r.pastes.open:
		return settled
	case r.pastes.open && !r.midPaste(ask):
		return r.patience
	case r.pastes.open || rest || ask && r.pastes.speaks:
		return stalls * r.patience
	}
	return r.patience
}

// midPaste holds where the mark of a paste's end is still to come. A terminal that has
// answered behind it leaves the mark out.
func (r *Relay) midPaste(ask bool) bool {
	return r.pastes.open && !(ask && r.pastes.status+r.pastes.within >= r.filter.status)
}

// tellLost says that something was thrown away, where it was more than an answer.
func (r *Relay) tellLost(l lost) {
	if l.lines {
		r.pending = append(r.pending, fmt.Sprintf("\r\nringfence: %d bytes of what was typed or pasted did not reach the session and were thrown away\r\n", l.bytes)...)
		_ = r.push()
	}
}

// Discard throws away what was typed into f since it was given back, so that it does not
// become a command of the shell: who types while ringfence has not ended yet may still
// mean the session.
func Discard(f *os.File) {
	fd := int(f.Fd())
	saved, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil || !foreground(fd) {
		return
	}
	// As lines, what has no end yet would not be seen.
	if setTermios(fd, rawMode(*saved)) != nil {
		return
	}
	var buf [4096]byte
	wait := time.Millisecond
	for ready(fd, unix.POLLIN, time.Now().Add(wait)) {
		n, err := unix.Read(fd, buf[:])
		if n <= 0 && err != unix.EINTR && err != unix.EAGAIN {
			break
		}
		if wait = max(wait, settled); n > typedAtOnce {
			wait = defaultPatience // a paste, of which more may be on its way
		}
	}
	_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH)
	_ = setTermios(fd, saved)
}
