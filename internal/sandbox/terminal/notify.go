package terminal

import (
	"strings"
	"unicode/utf8"
)

// maxNotes bounds what waits to be told; more is dropped, not waited for.
const maxNotes = 8

// Notify shows a line as the terminal's own notification (OSC 9). It does not touch
// the screen, which belongs to the agent, and terminals that know no notifications
// ignore it. It may be called from any goroutine.
func (r *Relay) Notify(text string) {
	select {
	case r.notes <- text:
		r.bell.ring(noted)
	default:
	}
}

// Print shows a line as text, after what the agent has written: for what must be seen
// even if the agent's screen suffers for it.
func (r *Relay) Print(text string) {
	select {
	case r.lines <- text:
		r.bell.ring(noted)
	default:
	}
}

// takeNote puts one line after what the agent has written. It waits while an image
// is under way: the filter passes those in pieces, everything else whole.
func (r *Relay) takeNote() {
	if len(r.pending) > 0 || r.filter.state == sixel {
		return
	}
	lines := r.lines
	if r.open != nil {
		lines = nil // the screen is the question's
	}
	select {
	case text := <-r.notes:
		if r.dumb {
			return
		}
		r.pending = append(r.pending, "\x1b]9;"+printableOnly(text, 200)+"\x07"...)
	case text := <-lines:
		r.pending = append(r.pending, "\r\n"+reverse(printableOnly(text, 1000), !r.dumb)+"\r\n"...)
	default:
	}
}

func reverse(s string, can bool) string {
	if can {
		return "\x1b[0;7m" + s + "\x1b[0m"
	}
	return s
}

// printableOnly keeps a line from ending its own sequence.
func printableOnly(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == 0xfffd {
			return -1
		}
		return c
	}, s)
	for len(s) > most {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
