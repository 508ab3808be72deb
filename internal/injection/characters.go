package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many hidden characters are more than an accident of copying.
const (
	enoughTags      = 3
	enoughRun       = 6 // side by side
	enoughWithin    = 3 // in one word
	enoughSelectors = 3
)

// characters judges what cannot be seen. A single joiner, mark or break that a web page
// left behind is nothing; a run that could spell something is.
func characters(w *work, text string) (out []Finding) {
	w.charge(len(text))
	base := 0
	for line := range strings.Lines(text) {
		if !ascii(line) {
			const most = 16 << 10 // of a line without an end
			for at := 0; at < len(line); at += most {
				part := line[at:min(len(line), at+most)]
				for _, f := range lineCharacters(part) {
					f.At += base + at
					out = append(out, f)
				}
			}
		}
		base += len(line)
		if len(out) >= maxFindings {
			break
		}
	}
	return out
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lineCharacters(line string) (out []Finding) {
	rs := []rune(line)
	rtl := RightToLeft(rs)
	var c counter
	at := 0
	for i := 0; i < len(rs); {
		n, what := Unseen(rs, i, i == 0, rtl)
		c.take(rs, i, n, what, at, rtl)
		for _, r := range rs[i : i+n] {
			at += max(1, utf8.RuneLen(r))
		}
		i += n
	}
	c.flush()
	return c.out
}

// counter adds up what is hidden in a line.
type counter struct {
	out    []Finding
	run    []rune // hidden ones side by side
	runAt  int
	inWord int
	turned bool
}

func (c *counter) take(rs []rune, i, n int, what rune, at int, rtl bool) {
	r := rs[i]
	switch {
	case r == 0x202e || r == 0x202d:
		c.turn(rs[i+1:], at, rtl)
		return
	case what == Hides && r >= 0x80, isSelector(r) && i > 0 && isSelector(rs[i-1]):
		if len(c.run) == 0 {
			c.runAt = at
		}
		c.run = append(c.run, r)
		if unicode.IsLetter(at0(rs, i-1)) && unicode.IsLetter(at0(rs, i+1)) && unicode.In(at0(rs, i-1), unicode.Latin, unicode.Cyrillic, unicode.Greek) {
			if c.inWord++; c.inWord == enoughWithin {
				c.add(Characters, at, "a word with hidden characters in it")
			}
		}
		return
	case what == Turns:
		return
	}
	c.flush()
	if n == 1 && !unicode.IsLetter(r) {
		c.inWord = 0
	}
}

func at0(rs []rune, i int) rune {
	if i < 0 || i >= len(rs) {
		return 0
	}
	return rs[i]
}

func (c *counter) add(k Kind, at int, what string) {
	c.out = append(c.out, Finding{Kind: k, At: at, Quote: quote(what)})
}

// flush judges a run that has ended.
func (c *counter) flush() {
	if len(c.run) == 0 {
		return
	}
	var tags, selected strings.Builder
	for _, r := range c.run {
		switch {
		case 0xe0020 <= r && r <= 0xe007e:
			tags.WriteRune(r - 0xe0000)
		case 0xe0100 <= r && r <= 0xe01ef:
			selected.WriteByte(byte(r - 0xe0100 + 16))
		case 0xfe00 <= r && r <= 0xfe0f:
			selected.WriteByte(byte(r - 0xfe00))
		}
	}
	switch {
	case tags.Len() >= enoughTags:
		c.add(Characters, c.runAt, "tags: "+tags.String())
	case selected.Len() >= enoughSelectors:
		c.add(Characters, c.runAt, "selectors: "+strings.ToValidUTF8(selected.String(), "?"))
	case len(c.run) >= enoughRun:
		c.add(Characters, c.runAt, "a run of hidden characters")
	}
	c.run = c.run[:0]
}

// turn judges an override of direction: it is one where letters that run from left to
// right would be read from the right.
func (c *counter) turn(rest []rune, at int, rtl bool) {
	const enough = 3
	letters := 0
	for _, r := range rest[:min(len(rest), 64)] {
		if r == 0x202c {
			break
		}
		if unicode.IsLetter(r) && (!rtl || unicode.Is(unicode.Latin, r)) {
			letters++
		}
	}
	if letters >= enough && !c.turned {
		c.turned = true
		c.add(Turned, at, string(rest[:min(len(rest), 40)]))
	}
}
