package terminal

import "io"

// Plain passes on the text of what an agent printed, without what only a terminal
// understands: for files and pipes. Escape sequences go, as do carriage returns.
type Plain struct {
	W     io.Writer
	state plainState
}

type plainState uint8

const (
	plainText plainState = iota
	plainEscape
	plainCSI
	plainString       // up to BEL or ESC \
	plainStringEscape // after ESC in it
)

// Write implements io.Writer.
func (p *Plain) Write(b []byte) (int, error) {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		if p.step(c) {
			out = append(out, c)
		}
	}
	if _, err := p.W.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// step reports whether the byte is text.
func (p *Plain) step(c byte) bool {
	switch p.state {
	case plainEscape:
		switch {
		case c == '[':
			p.state = plainCSI
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			p.state = plainString
		case c < 0x20 || c > 0x2f: // else intermediates follow
			p.state = plainText
		}
		return false
	case plainCSI:
		if c >= 0x40 && c <= 0x7e {
			p.state = plainText
		}
		return false
	case plainString:
		switch c {
		case bel:
			p.state = plainText
		case esc:
			p.state = plainStringEscape
		}
		return false
	case plainStringEscape:
		p.state = plainText
		return false
	}
	if c == esc {
		p.state = plainEscape
		return false
	}
	return c == '\n' || c == '\t' || c >= 0x20 && c != del
}
