package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of a text passes; more is cut off.
const (
	titleLimit  = 256
	noticeLimit = 512
)

// Our own use of the title stack, which agents may not touch: the user's title
// is pushed before the agent's first one and comes back at the end.
const (
	pushTitle = "\x1b[22;0t"
	popTitle  = "\x1b[23;0t"
)

// osc is one operating system command under judgement.
type osc struct {
	code string
	body string // what follows "code;"
	cut  bool   // body was longer than stringLimit and is incomplete
	asks bool   // set by keep: the terminal will answer
}

// oscFamilies are the operating system commands that pass. keep may change the
// body and note what has to be undone later.
//
// Not among them, with the reason: 52 and 5522 read and write the clipboard; 50
// and 51 name fonts and run Emacs commands; 1337 is iTerm2's, with files and
// clipboard; 5113 transfers files; 7 tells the host in which directory to open
// the next tab; 133 and 633 would mark the agent's text as the host shell's
// prompts and commands, to be run again by a click; 3, 5, 13-19, 21, 22 and 60-66
// are of no use to an agent.
var oscFamilies = []struct {
	name  string
	codes []string
	keep  func(*Filter, *osc) bool
	why   string
}{
	{"title", []string{"0", "1", "2"}, (*Filter).keepTitle, "cleaned and cut; cannot be read back, for CSI 20/21 t never pass"},
	{"link", []string{"8"}, (*Filter).keepLink, "http and https; a click on a file: link would run what the agent wrote"},
	{"notice", []string{"9"}, (*Filter).keepNotice, "text and progress; 9;1 to 9;12 are commands, of which 9;7 runs a program"},
	{"notice, kitty", []string{"99"}, (*Filter).keepKittyNotice, "title, body, focus; nothing that is answered"},
	{"notice, urxvt", []string{"777"}, (*Filter).keepNotify, "notify alone; others are the terminal's Perl extensions"},
	{"palette", []string{"4"}, (*Filter).keepPalette, "set, or ask: the answer is a colour"},
	{"colours", []string{"10", "11", "12"}, (*Filter).keepColour, "text, background, cursor: set, or ask"},
	{"reset palette", []string{"104"}, (*Filter).keepIndices, "back to the user's own"},
	{"reset colours", []string{"110", "111", "112"}, (*Filter).keepEmpty, "back to the user's own"},
}

// judgeOSC decides about the command in buf.
func (f *Filter) judgeOSC(terminator string) {
	code, body, split := strings.Cut(string(f.buf), ";")
	o := osc{code: code, body: body, cut: f.over}
	keep := oscRule(code)
	if keep == nil || !keep(f, &o) || o.asks && !f.answered {
		return
	}
	if o.asks {
		f.asked++
	}
	f.emit("\x1b]" + o.code)
	if split {
		f.emit(";" + o.body)
	}
	f.emit(terminator)
}

func oscRule(code string) func(*Filter, *osc) bool {
	for _, fam := range oscFamilies {
		for _, c := range fam.codes {
			if c == code {
				return fam.keep
			}
		}
	}
	return nil
}

func (f *Filter) keepTitle(o *osc) bool {
	o.body = clean(o.body, titleLimit)
	if o.body == "?" { // some terminals take it for a query
		return false
	}
	f.title = o.body
	if f.mark != "" {
		o.body = strings.TrimSpace(f.mark + " " + o.body)
	}
	if !f.traces.titled {
		f.traces.titled = true
		f.emit(pushTitle)
	}
	return true
}

// keepLink turns a link that may not pass into the end of a link, lest the text
// be joined to the one before it.
func (f *Filter) keepLink(o *osc) bool {
	params, uri, ok := strings.Cut(o.body, ";")
	if !ok {
		return false
	}
	if o.cut || !webLink(uri) {
		params, uri = "", ""
	}
	if !strings.HasPrefix(params, "id=") || len(params) > 256 || !graphic(params) {
		params = ""
	}
	o.body = params + ";" + uri
	f.traces.link = uri != ""
	return true
}

func webLink(uri string) bool {
	scheme, rest, ok := strings.Cut(uri, "://")
	return ok && rest != "" && graphic(uri) &&
		(strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http"))
}

// graphic reports whether s is visible ASCII throughout, without blanks.
func graphic(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= del })
}

func (f *Filter) keepNotice(o *osc) bool {
	o.body = clean(o.body, noticeLimit)
	rest := strings.TrimLeft(o.body, "0123456789")
	command := len(rest) < len(o.body) && (rest == "" || rest[0] == ';')
	if !command {
		return o.body != ""
	}
	fields := strings.Split(o.body, ";")
	if fields[0] != "4" || len(fields) > 3 {
		return false
	}
	for _, v := range fields[1:] {
		if len(v) > 3 || !digits(v) {
			return false
		}
	}
	f.traces.progress = len(fields) > 1 && fields[1] != "0"
	return true
}

// keepKittyNotice passes a notice in parts. An id is echoed in answers, and so
// every key that asks for one (a=report, c, p=? and the like) is refused.
func (f *Filter) keepKittyNotice(o *osc) bool {
	meta, text, ok := strings.Cut(o.body, ";")
	if !ok || len(meta) > 128 {
		return false
	}
	for pair := range strings.SplitSeq(meta, ":") {
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case pair == "":
		case key == "i" && value != "" && !strings.ContainsFunc(value, notWord):
		case key == "d" && (value == "0" || value == "1"):
		case key == "p" && (value == "title" || value == "body"):
		case key == "a" && value == "focus":
		case key == "u" && len(value) == 1 && digits(value):
		default:
			return false
		}
	}
	o.body = meta + ";" + clean(text, noticeLimit)
	return true
}

func notWord(r rune) bool {
	return r > del || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-+.", r)
}

func (f *Filter) keepNotify(o *osc) bool {
	text, ok := strings.CutPrefix(o.body, "notify;")
	o.body = "notify;" + clean(text, noticeLimit)
	return ok
}

func (f *Filter) keepPalette(o *osc) bool {
	fields := strings.Split(o.body, ";")
	if o.cut || len(fields)%2 != 0 {
		return false
	}
	set := false
	for i := 0; i < len(fields); i += 2 {
		if len(fields[i]) > 3 || !digits(fields[i]) || !colour(fields[i+1]) {
			return false
		}
		asks := fields[i+1] == "?"
		o.asks = o.asks || asks
		set = set || !asks
	}
	f.traces.colours.palette = f.traces.colours.palette || set
	return true
}

func (f *Filter) keepColour(o *osc) bool {
	if o.cut || !colour(o.body) {
		return false
	}
	o.asks = o.body == "?"
	if !o.asks {
		*f.dynamic(o.code[1]) = true
	}
	return true
}

// dynamic is the trace of OSC 10 to 12 and 110 to 112, by the last digit.
func (f *Filter) dynamic(digit byte) *bool {
	switch digit {
	case '0':
		return &f.traces.colours.text
	case '1':
		return &f.traces.colours.background
	}
	return &f.traces.colours.cursor
}

func (f *Filter) keepIndices(o *osc) bool {
	if o.body == "" {
		f.traces.colours.palette = false
		return !o.cut
	}
	for field := range strings.SplitSeq(o.body, ";") {
		if len(field) > 3 || !digits(field) {
			return false
		}
	}
	return !o.cut
}

func (f *Filter) keepEmpty(o *osc) bool {
	if o.body != "" {
		return false
	}
	*f.dynamic(o.code[2]) = false
	return true
}

// colour accepts "?", "#rgb" in its lengths, "rgb:r/g/b", "rgba:r/g/b/a" and a
// plain name.
func colour(s string) bool {
	hex := func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }
	if s == "?" {
		return true
	}
	if rest, ok := strings.CutPrefix(s, "#"); ok {
		return len(rest) >= 3 && len(rest) <= 16 && !strings.ContainsFunc(rest, hex)
	}
	if kind, rest, ok := strings.Cut(s, ":"); ok {
		parts := strings.Split(rest, "/")
		for _, p := range parts {
			if p == "" || len(p) > 4 || strings.ContainsFunc(p, hex) {
				return false
			}
		}
		return kind == "rgb" && len(parts) == 3 || kind == "rgba" && len(parts) == 4
	}
	return s != "" && len(s) <= 32 && !strings.ContainsFunc(s, notWord)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// clean cuts text at limit bytes and takes out what is not seen but changes
// what is seen: controls, direction marks and other format characters.
func clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, text)
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
