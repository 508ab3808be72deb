package terminal

import (
	"bytes"
	"strconv"
	"sync"
)

// csiFamilies are the control sequences that pass. A key is the private prefix,
// the intermediate and the final byte, each where it exists. keep may look at
// the parameters, change them and note what has to be undone later; nil keeps all.
//
// Not among them, with the reason:
//
//	t            window operations: they report the title and the state of the
//	             window, resize, move, iconify it, and keep a stack of titles
//	i ?i         media copy: prints, or sends the screen to the host
//	x =c ?n …    reports that no program needs
//	*y           checksum of an area: reads the screen, also what was on it before us
//	"p $} 2h ?2h ?38h …  conformance level, status line, keyboard lock, VT52 and
//	             Tektronix mode: the terminal would read by another grammar
//	?s ?r        save and restore of modes, behind the back of what is noted here
//	#{ #P …      stacks of colours and attributes, with reports
//	'z '| …      the locator, a mouse with reports of its own
//	&p >p >t …   whatever else there is
var csiFamilies = []struct {
	name string
	keys []string
	asks bool // the terminal answers
	keep func(*Filter, *csi) bool
	why  string
}{
	{"cursor", []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "Z", "`", "a", "d", "e", "f"}, false, nil, "moves the cursor"},
	{"erase", []string{"J", "K", "X", "?J", "?K"}, false, nil, "clears cells; the user can see that"},
	{"edit", []string{"@", "L", "M", "P", "b"}, false, nil, "inserts, deletes, repeats characters and lines"},
	{"scroll", []string{"S", "T"}, false, atMostOne, "scrolls; with five parameters T is mouse highlighting"},
	{"margins", []string{"r", "s"}, false, traced((*traces).setMargins), "scroll region; s alone saves the cursor"},
	{"restore cursor", []string{"u"}, false, nil, "the counterpart of s"},
	{"tab stops", []string{"g", "?W"}, false, nil, "sets or clears tab stops"},
	{"attributes", []string{"m"}, false, traced((*traces).setAttrs), "colours and styles of text"},
	{"insert mode", []string{"h", "l"}, false, traced((*traces).setInsert), "mode 4 alone; 2 locks the keyboard, 12 echoes locally"},
	{"private modes", []string{"?h", "?l"}, false, (*Filter).keepModes, "those of modeTable"},
	{"cursor shape", []string{" q"}, false, traced((*traces).setShape), "block, bar, underline"},
	{"soft reset", []string{"!p"}, false, (*Filter).keepReset, "back to defaults"},
	{"keyboard flags", []string{">u", "<u", "=u"}, false, (*Filter).keepKeys, "kitty's keyboard protocol"},
	{"modify keys", []string{">m"}, false, (*Filter).keepModify, "xterm's modifyOtherKeys, resource 4 alone"},

	{"device attributes", []string{"c", ">c"}, true, zeroOrNone, "the answer names the terminal's model"},
	{"status, cursor position", []string{"n"}, true, (*Filter).keepStatus, "the answer is OK or two numbers"},
	{"position, colour scheme", []string{"?n"}, true, oneOf(6, 996), "the answer is numbers; others tell of printers and macros"},
	{"mode state", []string{"$p", "?$p"}, true, atMostOne, "the answer is two numbers"},
	{"keyboard flags state", []string{"?u"}, true, zeroOrNone, "the answer is one number"},
	{"modify keys state", []string{"?m"}, true, oneOf(4), "the answer is two numbers"},
	{"name and version", []string{">q"}, true, zeroOrNone, "the answer is the terminal's own constant"},
	{"graphics limits", []string{"?S"}, true, keepGraphics, "reads only; the answer is numbers"},
}

// csi is one control sequence of the form that passes at all.
type csi struct {
	prefix, inter, final byte
	params               []byte // digits, ";" and ":"
}

type csiRule struct {
	asks bool
	keep func(*Filter, *csi) bool
}

// csiRules is csiFamilies by key, made when the first terminal is served and
// not at every start of the program.
var csiRules = sync.OnceValue(func() map[[3]byte]csiRule {
	rules := make(map[[3]byte]csiRule)
	for _, fam := range csiFamilies {
		for _, key := range fam.keys {
			c, _ := parseCSI([]byte(key[:len(key)-1]), key[len(key)-1])
			rules[c.key()] = csiRule{fam.asks, fam.keep}
		}
	}
	return rules
})

func (c *csi) key() [3]byte { return [3]byte{c.prefix, c.inter, c.final} }

// parseCSI splits what stands between CSI and the final byte: at most one
// private prefix, parameters, at most one intermediate. Numbers over 16 bits
// are refused: no program needs them, and terminals have hung on them.
func parseCSI(b []byte, final byte) (csi, bool) {
	c := csi{final: final}
	if len(b) > 0 && b[0] >= '<' && b[0] <= '?' {
		c.prefix, b = b[0], b[1:]
	}
	if n := len(b); n > 0 && b[n-1] < '0' {
		c.inter, b = b[n-1], b[:n-1]
	}
	c.params = b
	value := 0
	for _, d := range b {
		switch {
		case d >= '0' && d <= '9':
			if value = value*10 + int(d-'0'); value > 0xffff {
				return c, false
			}
		case d == ';', d == ':' && final == 'm':
			value = 0
		default:
			return c, false
		}
	}
	return c, true
}

// numbers returns the parameters, absent ones as 0.
func (c *csi) numbers() []int {
	var list []int
	for p := range bytes.SplitSeq(c.params, []byte(";")) {
		n, _ := strconv.Atoi(string(p))
		list = append(list, n)
	}
	return list
}

func (f *Filter) judgeCSI(final byte) {
	parsed, ok := parseCSI(f.buf, final)
	if !ok {
		return
	}
	f.csi = parsed
	c := &f.csi
	rule, ok := csiRules()[c.key()]
	if !ok || rule.asks && !f.answered || rule.keep != nil && !rule.keep(f, c) {
		return
	}
	if rule.asks {
		f.asked++
	}
	f.emit("\x1b[")
	if c.prefix != 0 {
		f.out = append(f.out, c.prefix)
	}
	f.out = append(f.out, c.params...)
	if c.inter != 0 {
		f.out = append(f.out, c.inter)
	}
	f.out = append(f.out, c.final)
}

func atMostOne(_ *Filter, c *csi) bool { return len(c.numbers()) == 1 }

func zeroOrNone(_ *Filter, c *csi) bool {
	n := c.numbers()
	return len(n) == 1 && n[0] == 0
}

func oneOf(allowed ...int) func(*Filter, *csi) bool {
	return func(_ *Filter, c *csi) bool {
		n := c.numbers()
		for _, a := range allowed {
			if len(n) == 1 && n[0] == a {
				return true
			}
		}
		return false
	}
}

// keepGraphics passes the reading of a limit (action 1) or of its maximum
// (action 4), not the setting.
func keepGraphics(_ *Filter, c *csi) bool {
	n := c.numbers()
	return len(n) >= 2 && len(n) <= 3 && (n[1] == 1 || n[1] == 4)
}

func (f *Filter) keepStatus(c *csi) bool {
	n := c.numbers()
	if len(n) != 1 || n[0] != 5 && n[0] != 6 {
		return false
	}
	if n[0] == 5 {
		f.status++
	}
	return true
}

// traced is a rule that keeps all it judges by in mind for the end.
func traced(keep func(*traces, *csi) bool) func(*Filter, *csi) bool {
	return func(f *Filter, c *csi) bool { return keep(&f.traces, c) }
}

func (t *traces) setMargins(c *csi) bool {
	if len(c.params) > 0 {
		t.margins = true
	}
	return true
}

func (t *traces) setAttrs(c *csi) bool {
	if len(c.params) > 0 && string(c.params) != "0" {
		t.attrs = true // and stays so: a saved cursor brings them back
	}
	return true
}

func (t *traces) setInsert(c *csi) bool {
	n := c.numbers()
	if len(n) != 1 || n[0] != 4 {
		return false
	}
	t.insert = c.final == 'h'
	return true
}

func (t *traces) setShape(c *csi) bool {
	n := c.numbers()
	if len(n) != 1 || n[0] > 6 {
		return false
	}
	t.shape = n[0]
	return true
}

func (f *Filter) keepModify(c *csi) bool {
	n := c.numbers()
	if len(n) > 2 || n[0] != 4 {
		return false
	}
	f.traces.modify = 0
	if len(n) == 2 {
		f.traces.modify = n[1]
	}
	return f.answered // else it is only remembered, see Filter.answered
}

// keepReset: at a prompt in front of us a reset would change how keys are read.
func (f *Filter) keepReset(*csi) bool {
	if !f.answered {
		f.emit(resetDrawing)
	}
	return f.answered
}

// resetDrawing is what a reset does to what is drawn next.
const resetDrawing = "\x1b[m\x1b[4l\x1b(B\x1b)B\x0f"

func (f *Filter) keepKeys(c *csi) bool {
	pass, prefix, n := f.traces.keyFlags().apply(c.prefix, c.numbers())
	c.prefix, c.params = prefix, strconv.AppendInt(nil, int64(n), 10)
	return pass && f.answered
}
