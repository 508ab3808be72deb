package terminal

import "unicode/utf8"

// step is the state machine. ESC, CAN, SUB and the C1 controls mean the same
// everywhere; the rest depends on the state.
func (f *Filter) step(r rune) {
	if f.inStr {
		f.inStr = false
		if r == '\\' {
			f.endString(st)
			return
		}
		f.abort()
		f.state = escaped
	}
	switch {
	case r == esc && f.inString():
		f.inStr = true
	case r == esc:
		f.state = escaped
	case r == can || r == sub: // CAN never passes: "** CAN B" starts a ZMODEM download
		f.abort()
	case r >= 0x80 && r < 0xa0:
		f.control1(byte(r))
	case f.inString():
		f.stepString(r)
	case r < ' ':
		f.control0(r)
	case r == del:
	case r > del: // text; it breaks off a sequence
		f.state = ground
		f.emitRune(r)
	default:
		f.stepASCII(byte(r))
	}
}

// stepASCII handles the printable characters outside strings.
func (f *Filter) stepASCII(c byte) {
	switch f.state {
	case ground:
		f.out = append(f.out, c)
	case escaped:
		f.escape(c)
	case inter:
		if c < '0' {
			f.buf[0] = ' ' // two intermediates: nothing that we know
			return
		}
		f.state = ground
		f.judgeEscape(f.buf[0], c)
	case csiBody:
		switch {
		case c >= '@':
			f.state = ground
			f.judgeCSI(c)
		case len(f.buf) == csiLimit:
			f.state = csiSkip
		default:
			f.buf = append(f.buf, c)
		}
	case csiSkip:
		if c >= '@' {
			f.state = ground
		}
	}
}

// escape handles the first byte after ESC.
func (f *Filter) escape(c byte) {
	f.buf, f.over, f.raw = f.buf[:0], false, false
	switch {
	case c < '0':
		f.buf = append(f.buf, c)
		f.state = inter
	case c == '[':
		f.state = csiBody
	case c == ']':
		f.state = oscBody
	case c == 'P':
		f.state = dcsHead
	case c == 'X', c == '^', c == '_', c == 'k': // SOS, PM, APC (kitty graphics), screen's title
		f.state = skip
	default:
		f.state = ground
		f.judgeEscape(0, c)
	}
}

// control0 lets through the controls that a line of text needs. ENQ would make
// the terminal send its answerback; XON and XOFF would stop it.
func (f *Filter) control0(r rune) {
	if r >= bel && r <= 0x0f { // BEL BS HT LF VT FF CR SO SI
		f.out = append(f.out, byte(r))
		f.traces.shift(r)
	}
}

// control1 handles a C1 control as the escape sequence it stands for.
func (f *Filter) control1(c byte) {
	if c == 0x9c && f.inString() {
		f.endString(st)
		return
	}
	f.abort()
	f.escape(c - 0x40)
}

func (f *Filter) inString() bool { return f.state >= oscBody }

// stepString handles a character inside a string.
func (f *Filter) stepString(r rune) {
	switch {
	case r == '\n' && f.raw:
		// A stray byte in Latin-1 text is likelier than a string opened
		// in 8-bit form: do not swallow more than the line.
		f.abort()
		f.control0(r)
	case f.state == oscBody && r == bel:
		f.endString("\a")
	case r < ' ' || r == del:
	case f.state == oscBody:
		f.stepOSC(r)
	case f.state == dcsHead:
		f.stepDCS(r)
	case f.state == sixel && r < del:
		f.out = append(f.out, byte(r))
	}
}

func (f *Filter) stepOSC(r rune) {
	if len(f.buf) < stringLimit {
		f.buf = utf8.AppendRune(f.buf, r)
	} else {
		f.over = true
	}
	// The Linux console's palette controls have no end: OSC R, OSC P and
	// seven digits. Dropped, but they must not swallow what follows.
	if f.buf[0] == 'R' || f.buf[0] == 'P' && len(f.buf) >= 8 {
		f.state = ground
	}
}

// stepDCS reads up to the byte that names the function: sixel ("q" without
// intermediates) passes; DECRQSS, XTGETTCAP, user-defined keys, soft fonts,
// macros and the pass-through of tmux and screen are dropped.
func (f *Filter) stepDCS(r rune) {
	switch {
	case (r >= '0' && r <= '9' || r == ';') && len(f.buf) < 32:
		f.buf = append(f.buf, byte(r))
	case r == 'q':
		f.emit("\x1bP")
		f.out = append(f.out, f.buf...)
		f.emit("q")
		f.state = sixel
	default:
		f.state = skip
	}
}

// endString ends a string in the proper way.
func (f *Filter) endString(terminator string) {
	was := f.state
	f.state = ground
	switch was {
	case oscBody:
		f.judgeOSC(terminator)
	case sixel:
		f.emit(st)
	}
}

// abort drops the sequence that is under way. Of an image the terminal has seen
// the beginning, so it is ended.
func (f *Filter) abort() {
	if f.state == sixel {
		f.emit(st)
	}
	f.state, f.inStr = ground, false
}
