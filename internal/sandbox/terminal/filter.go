package terminal

import (
	"io"
	"unicode/utf8"
)

// The bounds of what the filter holds back while it waits for the end of a
// sequence. A longer CSI is dropped; a longer string is cut or dropped, as its
// family says; sixel data is never held back.
const (
	csiLimit    = 256
	stringLimit = 4096
	chunkLimit  = 16 << 10 // input handled between two writes
)

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
	st  = "\x1b\\"
)

// state is where in the grammar of control sequences the filter is.
type state uint8

const (
	ground  state = iota
	escaped       // after ESC
	inter         // after ESC and one intermediate byte, in buf
	csiBody       // parameters and intermediates of a CSI, in buf
	csiSkip       // a CSI that is malformed or too long, up to its final byte
	oscBody       // an OSC, in buf
	dcsHead       // parameters of a DCS, in buf
	sixel         // data of a sixel image, passed as it comes
	skip          // any other string, dropped up to its end
)

// Filter passes to a writer what a terminal may be told by an agent. It is a
// stream: how the bytes are split over calls of Write changes nothing. It also
// remembers what the agent has switched on, so that Leave can switch it off.
//
// A Filter is not safe for use by several goroutines.
type Filter struct {
	w io.Writer
	// answered: somebody of ours reads what the terminal sends. Else a shell does, and
	// what would change how keys and pastes are sent is remembered for Return.
	answered bool
	mark     string // stands before titles
	title    string // the last that the agent gave

	out   []byte // judged, not yet written
	state state
	inStr bool // ESC was seen inside a string: "\" ends it, all else aborts it
	buf   []byte
	over  bool // buf is full and the rest of the string was cut
	raw   bool // the string was opened by a byte outside UTF-8
	csi   csi  // under judgement; here and not on the heap for each
	pend  [utf8.UTFMax]byte
	npend int

	asked  int  // queries passed
	status int  // of these, CSI 5 n, whose answer the relay uses as a mark
	marks  bool // the terminal was asked at least once to mark pastes
	traces traces
}

// NewFilter returns a filter that writes to w. If nobody reads the answers of
// the terminal (answered is false), queries are dropped too, and modes that change what
// the terminal sends are kept for Return: the user's shell would read that.
func NewFilter(w io.Writer, answered bool) *Filter {
	return &Filter{
		w:        w,
		answered: answered,
		buf:      make([]byte, 0, stringLimit+utf8.UTFMax),
	}
}

// Write filters p. It reports all of p as written unless the writer fails.
func (f *Filter) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n := min(len(p)-done, chunkLimit)
		f.consume(p[done : done+n])
		if err := f.flush(); err != nil {
			return done, err
		}
		done += n
	}
	return len(p), nil
}

// Leave gives the terminal back to the user: it ends an open image and undoes
// what the agent has switched on. The modes are remembered for Return. It
// reports whether the terminal may be about to type something by itself.
func (f *Filter) Leave() (chatty bool, err error) {
	if f.state == sixel {
		f.emit(st)
		f.state = skip
	}
	chatty = f.answered && f.traces.chatty()
	f.out = f.traces.undo(f.out, f.answered)
	return chatty, f.flush()
}

// Alternate reports whether the agent draws on the alternate screen.
func (f *Filter) Alternate() bool { return f.traces.alternate() }

// Return sets again the modes that Leave took back, and if somebody of ours reads what the
// terminal sends, those that were only remembered.
func (f *Filter) Return() error {
	f.marks = f.marks || f.answered && f.traces.mode(bracketedPaste)
	f.out = f.traces.redo(f.out, f.answered)
	return f.flush()
}

func (f *Filter) flush() error {
	if len(f.out) == 0 {
		return nil
	}
	_, err := f.w.Write(f.out)
	f.out = f.out[:0]
	return err
}

func (f *Filter) emit(s string)   { f.out = append(f.out, s...) }
func (f *Filter) emitRune(r rune) { f.out = utf8.AppendRune(f.out, r) }

// consume runs the bytes through decode; plain text and image data, the bulk of
// all output, take a short cut.
func (f *Filter) consume(p []byte) {
	for len(p) > 0 {
		n := 0
		if f.npend == 0 && (f.state == ground || f.state == sixel && !f.inStr) {
			for n < len(p) && p[n] >= ' ' && p[n] < del {
				n++
			}
			f.out = append(f.out, p[:n]...)
		}
		if n < len(p) {
			f.decode(p[n])
			n++
		}
		p = p[n:]
	}
}

// decode turns bytes into characters. What is not UTF-8 becomes U+FFFD, except
// a byte which is a C1 control in an 8-bit terminal: that is judged as one.
func (f *Filter) decode(b byte) {
	if f.npend == 0 && b < utf8.RuneSelf {
		f.step(rune(b))
		return
	}
	f.pend[f.npend] = b
	f.npend++
	p := f.pend[:f.npend]
	if !utf8.FullRune(p) {
		return
	}
	f.npend = 0
	r, size := utf8.DecodeRune(p)
	switch {
	case r != utf8.RuneError || size > 1:
		f.step(r)
	case len(p) > 1: // a character that was cut short, and then b
		f.step(utf8.RuneError)
		f.decode(b)
	case b < 0xa0:
		f.step(rune(b))
		f.raw = f.inString()
	default:
		f.step(utf8.RuneError)
	}
}
