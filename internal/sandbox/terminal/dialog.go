package terminal

import (
	"fmt"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Dialog is a conversation of ours with the person on the agent's terminal. While it is
// open nothing of the agent is shown, so that it cannot paint over the question, and
// nothing that is typed reaches it but what is no answer.
//
// Answers come as lines: who is typing something else, or pasting it, gives none by
// accident. The functions are called on the relay's goroutine.
type Dialog struct {
	// Text is what is asked; its last line is where the answer is typed. over: there is a
	// screen for it, else it stands below what the agent has printed. None: it is settled.
	Text func(over bool) []string
	// Enter takes an answer. known is false for what is none. said is told in its place.
	Enter func(line string) (said string, known bool)
	// Left is called when the person wants no question now.
	Left func()
	// Elsewhere, if set, opens it in a place beside the agent's screen, and returns at once;
	// false: there is none. instead opens it over the screen after all; any goroutine may call it.
	Elsewhere func(instead func()) bool
}

// openDialog is the state of a dialog in the relay.
type openDialog struct {
	*Dialog
	over    bool
	main    bool // over: it is on the alternate screen, and the agent on the other
	marked  bool // what is typed is for us
	mark    int  // the answer of the terminal that says so, by its number …
	expires time.Time
	from    time.Time // an answer before is none
	line    []byte    // typed so far
	raw     []byte    // and as it came
	keys    escapes
}

// maxAnswer is how long an answer may be. What is longer is none.
const maxAnswer = 256

// Ask wants a dialog. Where the agent has the whole screen the person is told by the title
// and a bell, and opens it with Ctrl-] r; else it is opened at once. Nil withdraws it.
// It may be called from any goroutine, and again when the text has changed.
func (r *Relay) Ask(d *Dialog) {
	r.wanted.Store(d)
	r.bell.ring(noted)
}

// tend opens, draws anew and closes the dialog, as is wanted.
func (r *Relay) tend() {
	d := r.wanted.Load()
	if r.open != nil && (d != r.open.Dialog || len(d.Text(r.open.over)) == 0) {
		r.shut("")
	}
	if d == nil || len(d.Text(false)) == 0 {
		r.attention(false)
		return
	}
	if r.open != nil {
		if fmt.Sprint(d.Text(r.open.over)) != r.drawn {
			r.another()
		}
		return
	}
	if !r.presentable() {
		return
	}
	if r.full() {
		r.attention(true)
		if r.instead.Swap(false) {
			r.show(d, true)
		}
		return
	}
	r.show(d, false)
}

// called opens the dialog because the person wants it: beside the screen, or over it.
func (r *Relay) called() {
	d := r.wanted.Load()
	if d != nil && d.Elsewhere != nil && d.Elsewhere(func() {
		r.instead.Store(true)
		r.bell.ring(noted)
	}) {
		return
	}
	r.show(d, true)
}

// presentable holds where the terminal is ours to write to between two sequences.
func (r *Relay) presentable() bool {
	return r.in >= 0 && r.front && !r.ended && len(r.pending) == 0 && r.filter.state != sixel
}

// full holds while a program has the whole screen or reads single keys. An agent that
// pretends to only chooses the other way to be asked about.
func (r *Relay) full() bool {
	if r.filter.Alternate() {
		return true
	}
	if t, err := unix.IoctlGetTermios(r.master, unix.TCGETS); err == nil {
		return t.Lflag&unix.ICANON == 0
	}
	return r.filter.traces.chatty() || r.filter.traces.mode(bracketedPaste)
}

// attention says in the title, and once by the bell, that there is a question.
func (r *Relay) attention(on bool) {
	if r.dumb || r.conf.Mark == "" || on == r.calls || len(r.pending) > 0 {
		return
	}
	r.calls = on
	title := r.filter.mark + " " + r.filter.title
	if on {
		title = "Ctrl-] r: a host is wanted " + r.filter.mark
		r.pending = append(r.pending, bel)
	}
	r.pending = append(r.pending, "\x1b]2;"+printableOnly(title, titleLimit)+"\x07"...)
	if !on && len(r.prefix.held) > 0 {
		r.keys, r.prefix.held = append(r.keys, r.prefix.held...), nil
	}
}

// show opens a dialog. A terminal sends in order: it is asked for its status, and all that
// comes before the answer was typed before, or answers what the agent asked.
func (r *Relay) show(d *Dialog, over bool) {
	if d == nil {
		return
	}
	r.open = &openDialog{Dialog: d, over: over, expires: time.Now().Add(r.patience)}
	if r.dumb {
		r.open.marked = true
	} else {
		r.pending = r.filter.traces.cover(r.pending)
		if over && !r.filter.Alternate() {
			r.open.main = true
			r.pending = append(r.pending, "\x1b[?1049h"...)
		}
		r.mark()
	}
	r.draw()
}

// mark lets only what is typed from now on be an answer.
func (r *Relay) mark() {
	r.pending = append(r.pending, "\x1b[5n"...)
	r.filter.status++
	r.open.mark, r.open.marked = r.filter.status, false
}

// another draws a question that took the place of one that somebody may be answering just
// now. What comes before he can have read it is no answer to it.
func (r *Relay) another() {
	r.open.from = time.Now().Add(readingTime)
	if !r.dumb {
		r.mark()
	}
	r.draw()
}

const readingTime = 700 * time.Millisecond

// draw writes the text. No terminal obeys anything in it.
func (r *Relay) draw() {
	lines := r.open.Text(r.open.over)
	r.drawn = fmt.Sprint(lines)
	r.open.line, r.open.raw = r.open.line[:0], r.open.raw[:0]
	if r.open.over {
		r.pending = append(r.pending, "\x1b[H\x1b[2J"...)
	} else {
		r.pending = append(r.pending, "\r\n"...)
	}
	rows := 24
	if ws, err := Size(r.tty); err == nil && ws.Row > 2 {
		rows = int(ws.Row)
	}
	if skip := len(lines) - (rows - 1); skip > 0 && r.open.over {
		lines = lines[skip:] // the question stands last
	}
	for i, line := range lines {
		if i > 0 {
			r.pending = append(r.pending, "\r\n"...)
		}
		r.pending = append(r.pending, printableOnly(line, 400)...)
	}
}

// shut closes the dialog and gives the screen back to the agent: as it was, or where the
// agent has the alternate screen, by letting it draw anew.
func (r *Relay) shut(said string) {
	open := r.open
	r.open = nil
	if open == nil {
		return
	}
	if open.main {
		r.pending = append(r.pending, "\x1b[?1049l"...)
	} else if !open.over {
		r.pending = append(r.pending, "\r\n"...)
		if said != "" {
			r.pending = append(r.pending, printableOnly(said, 400)+"\r\n"...)
		}
	} else {
		r.wiggle()
	}
	if !r.dumb {
		r.pending = r.filter.traces.uncover(r.pending)
	}
	r.attention(false)
}

// wiggle makes the agent draw its screen anew: it is told of a smaller one, and in a
// moment of the true one.
func (r *Relay) wiggle() {
	ws, err := Size(r.tty)
	if err != nil || ws.Row < 2 {
		return
	}
	ws.Row--
	if r.conf.Resize != nil {
		r.conf.Resize(ws)
	} else {
		_ = unix.IoctlSetWinsize(r.master, unix.TIOCSWINSZ, ws)
	}
	r.again, r.drew = time.Now().Add(redrawPause), false
}

// redrawPause lies between two sizes: a program that looks now and then must see both. One
// that has drawn nothing since the first did not get to look: it has until redrawMost.
const (
	redrawPause = 150 * time.Millisecond
	redrawMost  = 5 * time.Second
)

// redraws holds when the true size is due after wiggle.
func (r *Relay) redraws(now time.Time) bool {
	return !r.again.IsZero() && now.After(r.again) && (r.drew || now.Sub(r.again) > redrawMost)
}

// listen takes what was typed while a dialog is open.
func (r *Relay) listen(typed []byte) {
	for i, c := range typed {
		if r.open == nil { // it was closed by what came before
			r.keys = append(r.keys, typed[i:]...)
			return
		}
		if !r.open.marked {
			r.beforeMark(c)
			continue
		}
		r.pastes.Scan([]byte{c}, r.filter.marks, true)
		r.typedOne(c)
	}
}

// beforeMark passes on what was typed before the question could be seen.
func (r *Relay) beforeMark(c byte) {
	r.pastes.Scan([]byte{c}, r.filter.marks, true)
	r.keys = append(r.keys, c)
	if r.pastes.status >= r.open.mark {
		r.open.marked = true
		if n := len(r.keys) - len(statusOK); n >= 0 && string(r.keys[n:]) == statusOK { // the answer to us
			r.keys = r.keys[:n]
		}
	} else if time.Now().After(r.open.expires) { // a terminal that answers nothing
		r.open.marked = true
		r.pastes.status = r.filter.status
		r.keys = r.keys[:len(r.keys)-1]
		r.typedOne(c)
	}
}

// typedOne takes one byte of an answer.
func (r *Relay) typedOne(c byte) {
	o := r.open
	text := o.keys.step(c)
	o.raw = append(o.raw, c)
	switch {
	case !text:
	case c == 0x03 || c == 0x04 || c == 0x1a || c == 0x1c: // end, stop: that is for the agent, and no to us
		o.Left()
		r.keys = append(r.keys, o.raw...)
		r.shut("")
	case c == '\r' || c == '\n':
		r.entered()
	case c == del || c == 0x08:
		if len(o.line) > 0 {
			_, n := utf8.DecodeLastRune(o.line)
			o.line = o.line[:len(o.line)-n]
			r.pending = append(r.pending, "\b \b"...)
		}
	case c < ' ' || len(o.line) >= maxAnswer:
	default:
		o.line = append(o.line, c)
		if c < del {
			r.pending = append(r.pending, c)
		}
	}
	if len(o.raw) >= inLimit && r.open != nil { // nobody answers like that
		r.keys = append(r.keys, o.raw...)
		o.line, o.raw = o.line[:0], o.raw[:0]
	}
}

// entered takes a whole line.
func (r *Relay) entered() {
	o := r.open
	line, raw := string(o.line), append([]byte{}, o.raw...)
	if fmt.Sprint(o.Text(o.over)) != r.drawn || time.Now().Before(o.from) {
		r.another()
		return
	}
	said, known := o.Enter(line)
	switch {
	case !known && !o.over:
		r.keys = append(r.keys, raw...)
		r.draw()
	case len(o.Text(o.over)) == 0:
		r.shut(said)
	default:
		if said != "" && !o.over {
			r.pending = append(r.pending, "\r\n"+printableOnly(said, 400)...)
		}
		r.draw()
	}
}

// escapes tells keys from the sequences that a terminal sends: reports, arrows, the mouse.
type escapes struct{ state state }

// step reports whether a byte is a key.
func (e *escapes) step(c byte) bool {
	switch e.state {
	case escaped:
		switch c {
		case '[':
			e.state = csiBody
		case 'O':
			e.state = inter
		case ']', 'P', '_', '^', 'X':
			e.state = oscBody
		case esc:
		default:
			e.state = ground
		}
		return false
	case csiBody:
		if c >= '@' && c <= '~' {
			e.state = ground
		}
		return false
	case inter:
		e.state = ground
		return false
	case oscBody:
		if c == bel || c == '\\' || c == '\r' { // no answer of a terminal holds the last
			e.state = ground
		}
		return false
	}
	if c == esc {
		e.state = escaped
		return false
	}
	return true
}
