package shell

import (
	"strings"
	"unicode/utf8"
)

// builder gathers the parts of a word.
type builder struct {
	word   Word
	text   []byte
	quoted bool
	any    bool // something was there, be it empty quotes
}

func (b *builder) add(quoted bool, s string) {
	if b.quoted != quoted {
		b.flush()
		b.quoted = quoted
	}
	b.any = true
	b.text = append(b.text, s...)
}

func (b *builder) flush() {
	if len(b.text) > 0 {
		b.word = append(b.word, Part{Kind: Text, Quoted: b.quoted, Text: string(b.text)})
		b.text = b.text[:0]
	}
}

func (b *builder) part(part Part) {
	b.flush()
	b.any = true
	b.word = append(b.word, part)
}

func (b *builder) done() Word {
	b.flush()
	if len(b.word) == 0 && b.any {
		b.word = Word{{Kind: Text, Quoted: true}}
	}
	return b.word
}

// empty marks that quotes with nothing in them stood here: they make a word.
func (b *builder) empty() {
	b.any = true
	if len(b.text) == 0 {
		b.word = append(b.word, Part{Kind: Text, Quoted: true})
	}
}

// word reads one. It may be empty, as in NAME= .
func (p *parser) word() Word {
	var b builder
	start := p.at
	for !p.end() {
		c := p.peek()
		if (c == '<' || c == '>') && p.at+1 < len(p.src) && p.src[p.at+1] == '(' {
			p.process(&b, c)
			continue
		}
		if c == '(' && p.at > start && strings.IndexByte("?*+@!", p.src[p.at-1]) >= 0 {
			p.extended(&b)
			continue
		}
		if strings.IndexByte(" \t\r\n;|&<>()", c) >= 0 {
			break
		}
		p.piece(&b, false)
	}
	return p.count(b.done())
}

// count bounds how much a line may hold.
func (p *parser) count(w Word) Word {
	if p.parts += 1 + len(w); p.parts > maxParts {
		p.fail(errMany)
	}
	return w
}

// process is <(…) or >(…).
func (p *parser) process(b *builder, c byte) {
	p.at += 2
	list := p.list()
	if !p.take(")") {
		p.fail(errParen)
	}
	kind := ProcIn
	if c == '>' {
		kind = ProcOut
	}
	b.part(Part{Kind: kind, List: list})
}

// extended is the parenthesis of a pattern such as !(this).
func (p *parser) extended(b *builder) {
	depth := 0
	for !p.end() {
		switch c := p.peek(); {
		case c == '(':
			depth++
			b.add(false, "(")
			p.at++
		case c == ')':
			depth--
			b.add(false, ")")
			p.at++
		case c == '|' || c == ' ':
			b.add(false, string(c))
			p.at++
		case strings.IndexByte("\n;&<>", c) >= 0:
			p.fail(errParen)
		default:
			p.piece(b, false)
		}
		if depth == 0 {
			return
		}
	}
	p.fail(errParen)
}

// piece reads the next quote, expansion or character. In double quotes fewer
// characters mean something.
func (p *parser) piece(b *builder, double bool) {
	switch c := p.peek(); {
	case c == '\\':
		p.escape(b, double)
	case c == '\'' && !double:
		end := strings.IndexByte(p.src[p.at+1:], '\'')
		if end < 0 {
			p.fail(errQuote)
		}
		b.add(true, p.src[p.at+1:p.at+1+end])
		b.empty()
		p.at += end + 2
	case c == '"' && !double:
		p.at++
		p.double(b, '"')
		b.empty()
	case c == '$':
		p.dollar(b, double)
	case c == '`':
		p.backtick(b, double)
	default:
		_, n := utf8.DecodeRuneInString(p.src[p.at:])
		b.add(double, p.src[p.at:p.at+n])
		p.at += n
	}
}

// escape is a backslash and what it protects.
func (p *parser) escape(b *builder, double bool) {
	p.at++
	if p.end() {
		b.add(true, "\\")
		return
	}
	c := p.peek()
	_, n := utf8.DecodeRuneInString(p.src[p.at:])
	s := p.src[p.at : p.at+n]
	p.at += n
	switch {
	case c == '\n':
	case double && strings.IndexByte("$`\"\\", c) < 0:
		b.add(true, "\\"+s)
	default:
		b.add(true, s)
	}
}

// double reads up to the end of double quotes, or to the end if there is none to
// come, as in a here-document.
func (p *parser) double(b *builder, end byte) {
	for !p.end() {
		if p.peek() == end && end != 0 {
			p.at++
			return
		}
		p.piece(b, true)
	}
	if end != 0 {
		p.fail(errQuote)
	}
}

// backtick is a substitution in the old form: a level of backslashes is taken off
// before it is read.
func (p *parser) backtick(b *builder, double bool) {
	var in []byte
	for p.at++; ; p.at++ {
		if p.end() {
			p.fail(errQuote)
		}
		c := p.peek()
		if c == '`' {
			p.at++
			break
		}
		if c == '\\' && p.at+1 < len(p.src) && (strings.IndexByte("$`\\", p.src[p.at+1]) >= 0 || double && p.src[p.at+1] == '"') {
			p.at++
			c = p.peek()
		}
		in = append(in, c)
	}
	b.part(Part{Kind: Cmd, Quoted: double, List: p.inner(string(in))})
}

// inner reads a text that was taken out of this one.
func (p *parser) inner(src string) List {
	sub := &parser{src: src, depth: p.depth, parts: p.parts}
	sub.enter()
	list := sub.list()
	if !sub.end() {
		p.fail(errExtra)
	}
	p.parts = sub.parts
	return list
}
