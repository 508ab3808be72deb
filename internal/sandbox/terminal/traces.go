package terminal

import (
	"slices"
	"strconv"
)

// traces is what the agent has changed in the terminal and not changed back.
type traces struct {
	// Modes: undone when the job is stopped, set again when it goes on.
	flipped uint64 // bit i: modeTable[i] is not as a terminal starts
	keypad  bool
	insert  bool
	shape   int // cursor shape, 0 is the user's own
	modify  int // modifyOtherKeys
	keys    [2]keyFlags

	// Marks: undone, and not made again. An agent that goes on draws anew.
	attrs, charset, margins, link, titled, progress bool
	colours                                         colours
}

// colours says which of the user's colours the agent has set.
type colours struct{ palette, text, background, cursor bool }

func (t *traces) setMode(row int, on bool) {
	if m := modeTable[row]; on != m.on && !m.stays {
		t.flipped |= 1 << row
	} else {
		t.flipped &^= 1 << row
	}
}

func (t *traces) mode(number int) bool { return t.flipped&(1<<modeRow(number)) != 0 }

func (t *traces) alternate() bool { return slices.ContainsFunc(screenModes, t.mode) }

// keyFlags returns the keyboard flags of the screen shown: each has its own.
func (t *traces) keyFlags() *keyFlags {
	if t.alternate() {
		return &t.keys[1]
	}
	return &t.keys[0]
}

// chatty reports whether the terminal types by itself at the moment.
func (t *traces) chatty() bool {
	for row, m := range modeTable {
		if m.types && t.flipped&(1<<row) != 0 {
			return true
		}
	}
	return t.keys[0].any() || t.keys[1].any()
}

func (t *traces) escape(inter, final byte) {
	switch {
	case inter != 0:
		t.charset = t.charset || final != 'B'
	case final == '=' || final == '>':
		t.keypad = final == '='
	case final == 'c':
		// The main screen is shown again. The rest stays noted: to
		// switch off twice does no harm.
		for _, n := range screenModes {
			t.flipped &^= 1 << modeRow(n)
		}
	}
}

// shift notes SO; SI alone does not tell which set is in G0.
func (t *traces) shift(r rune) {
	if r == 0x0e {
		t.charset = true
	}
}

// undo appends what gives the terminal back as it was found.
// Where input is false, what the terminal sends was never changed, or is as it was again.
func (t *traces) undo(b []byte, input bool) []byte {
	if input {
		b = t.keyFlags().undo(b)
	}
	if t.alternate() {
		b = t.flip(b, true, false, true)
		if input {
			b = t.keys[0].undo(b)
		}
	} else if input && t.keys[1].any() { // left behind where only a switch of screens reaches it
		b = append(b, "\x1b[?1049h"...)
		b = t.keys[1].undo(b)
		b = append(b, "\x1b[?1049l"...)
	}
	b = t.flip(b, false, false, input)
	for _, u := range []struct {
		left bool
		seq  string
	}{
		{t.margins, "\x1b7\x1b[r\x1b8"}, // to reset margins moves the cursor
		{t.charset, "\x1b(B\x1b)B\x0f"},
		{t.attrs, "\x1b[m"},
		{t.insert, "\x1b[4l"},
		{t.keypad && input, "\x1b>"},
		{t.shape != 0, "\x1b[0 q"},
		{t.modify != 0 && input, "\x1b[>4m"},
		{t.link, "\x1b]8;;" + st},
		{t.colours.palette, "\x1b]104" + st},
		{t.colours.text, "\x1b]110" + st},
		{t.colours.background, "\x1b]111" + st},
		{t.colours.cursor, "\x1b]112" + st},
		{t.progress, "\x1b]9;4;0" + st},
		{t.titled, popTitle},
	} {
		if u.left {
			b = append(b, u.seq...)
		}
	}
	*t = traces{flipped: t.flipped, keypad: t.keypad, insert: t.insert, shape: t.shape, modify: t.modify, keys: t.keys}
	return b
}

// redo appends what sets the modes again.
func (t *traces) redo(b []byte, input bool) []byte {
	if input {
		b = t.keys[0].redo(b)
	}
	if t.alternate() {
		b = t.flip(b, true, true, true)
		if input {
			b = t.keys[1].redo(b)
		}
	}
	b = t.flip(b, false, true, input)
	return t.redoRest(b, input)
}

// redoRest appends what is set again and is no private mode.
func (t *traces) redoRest(b []byte, input bool) []byte {
	if t.insert {
		b = append(b, "\x1b[4h"...)
	}
	if t.keypad && input {
		b = append(b, "\x1b="...)
	}
	if t.shape != 0 {
		b = append(b, "\x1b["+strconv.Itoa(t.shape)+" q"...)
	}
	if t.modify != 0 && input {
		b = append(b, "\x1b[>4;"+strconv.Itoa(t.modify)+"m"...)
	}
	return b
}

// flip appends the changes of the screen modes, or of all others, to the
// agent's state or back from it; those that change what is sent only if input is true.
func (t *traces) flip(b []byte, screens, agent, input bool) []byte {
	for row, m := range modeTable {
		if t.flipped&(1<<row) == 0 || slices.Contains(screenModes, m.number) != screens || m.input() && !input {
			continue
		}
		final := "l"
		if m.on != agent {
			final = "h"
		}
		b = append(b, "\x1b[?"+strconv.Itoa(m.number)+final...)
	}
	return b
}

// cover appends what makes text of ours readable and keys plain, whatever the agent has on:
// its marks stay noted, for they are undone at the end.
func (t *traces) cover(b []byte) []byte {
	b = t.keyFlags().undo(b)
	b = t.flip(b, false, false, true)
	for _, u := range []struct {
		on  bool
		seq string
	}{{t.margins, "\x1b7\x1b[r\x1b8"}, {t.colours.palette, "\x1b]104" + st}, {t.colours.text, "\x1b]110" + st}, {t.colours.background, "\x1b]111" + st},
		{t.insert, "\x1b[4l"}, {t.keypad, "\x1b>"}, {t.modify != 0, "\x1b[>4m"}, {t.link, "\x1b]8;;" + st}, {t.charset, "\x1b(B\x1b)B\x0f"}} {
		if u.on {
			b = append(b, u.seq...)
		}
	}
	return append(b, "\x1b[m"...)
}

// uncover appends what sets the modes again. The screen is the agent's.
func (t *traces) uncover(b []byte) []byte {
	b = t.keyFlags().redo(b)
	b = t.flip(b, false, true, true)
	return t.redoRest(b, true)
}
