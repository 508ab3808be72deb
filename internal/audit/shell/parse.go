package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of what is read.
const (
	MaxLength = 64 << 10
	maxDepth  = 50
	maxParts  = 1 << 16
)

// errors of form. Each is told with the offset where it was found.
var (
	errLong  = errors.New("too long")
	errDeep  = errors.New("nested too deeply")
	errMany  = errors.New("too many words")
	errQuote = errors.New("a quote is not closed")
	errBrace = errors.New("an expansion is not closed")
	errParen = errors.New("a parenthesis is not closed")
	errWord  = errors.New("a word is missing")
	errBody  = errors.New("a compound command is not closed")
	errExtra = errors.New("something is closed that was not opened")
	errRest  = errors.New("something stands behind a compound command")
)

// parser reads src from at on. A failure is raised as a panic with bad and becomes
// the error of Parse.
type parser struct {
	src   string
	at    int
	depth int
	parts int
	docs  []*Redir // here-documents whose text comes after the line
	delim []docEnd
}

type docEnd struct {
	word   string
	quoted bool
	tabs   bool
}

type bad struct {
	at  int
	err error
}

// Parse reads a command line, or many.
func Parse(src string) (list List, err error) {
	if len(src) > MaxLength {
		return nil, errLong
	}
	p := &parser{src: src}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case bad:
			list, err = nil, fmt.Errorf("at byte %d: %w", r.at, r.err)
		default:
			panic(r)
		}
	}()
	list = p.list()
	if p.at < len(p.src) {
		p.fail(errExtra)
	}
	return list, nil
}

func (p *parser) fail(err error) { panic(bad{p.at, err}) }

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(errDeep)
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *parser) has(s string) bool { return strings.HasPrefix(p.src[p.at:], s) }

func (p *parser) take(s string) bool {
	if p.has(s) {
		p.at += len(s)
		return true
	}
	return false
}

func (p *parser) end() bool { return p.at >= len(p.src) }

// blanks skips what separates words, continued lines, and a comment.
func (p *parser) blanks() {
	for !p.end() {
		switch {
		case p.peek() == ' ' || p.peek() == '\t' || p.peek() == '\r':
			p.at++
		case p.has("\\\n"):
			p.at += 2
		case p.peek() == '#' && p.starts():
			for !p.end() && p.peek() != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

// starts holds where a word would begin, so that # is a comment.
func (p *parser) starts() bool {
	return p.at == 0 || strings.IndexByte(" \t\r\n;|&()<>`", p.src[p.at-1]) >= 0
}

// newline takes one, and the here-documents that wait for it.
func (p *parser) newline() bool {
	if !p.take("\n") {
		return false
	}
	p.documents()
	return true
}

// gap skips blanks and newlines.
func (p *parser) gap() {
	for p.blanks(); p.newline(); p.blanks() {
	}
}

// closers are the reserved words that end a list.
var closers = []string{"then", "do", "done", "fi", "else", "elif", "esac", "}"}

// list reads pipelines up to the end, a parenthesis, a closer or ;;.
func (p *parser) list() List {
	p.enter()
	defer p.leave()
	var out List
	for {
		p.gap()
		for p.peek() == ';' && !p.has(";;") && !p.has(";&") {
			p.at++
			p.gap()
		}
		if p.end() || p.peek() == ')' || p.has(";;") || p.has(";&") || p.closer() != "" {
			if p.end() {
				p.documents()
			}
			return out
		}
		item := Item{Pipe: p.pipeline()}
		p.blanks()
		switch {
		case p.take("&&"), p.take("||"):
		case p.has(";;"), p.has(";&"):
		case p.take(";"):
		case p.take("&"):
			item.Background = true
		case p.end(), p.peek() == '\n', p.peek() == ')', p.closer() != "":
		default:
			p.fail(errRest)
		}
		out = append(out, item)
	}
}

// closer returns the reserved word here that ends a list, without taking it.
func (p *parser) closer() string {
	word := p.reserved()
	if slices.Contains(closers, word) {
		return word
	}
	return ""
}

// reserved returns the letters here if they could be a reserved word.
func (p *parser) reserved() string {
	end := p.at
	for end < len(p.src) && (p.src[end] >= 'a' && p.src[end] <= 'z' || strings.IndexByte("{}[]!", p.src[end]) >= 0) {
		end++
	}
	if end < len(p.src) && strings.IndexByte(" \t\r\n;|&()<>", p.src[end]) < 0 {
		return ""
	}
	return p.src[p.at:end]
}

func (p *parser) pipeline() []Command {
	var out []Command
	for {
		p.gap()
		for word := p.reserved(); word == "!" || word == "time" || word == "coproc"; word = p.reserved() {
			p.at += len(word)
			p.blanks()
			if word == "time" && p.take("-p") {
				p.blanks()
			}
		}
		out = append(out, p.command())
		p.blanks()
		if p.has("||") || !p.take("|") {
			return out
		}
		p.take("&") // |& is 2>&1 |
	}
}

// command reads one, simple or compound.
func (p *parser) command() Command {
	p.enter()
	defer p.leave()
	var c Command
	if body := p.compound(); body != nil {
		c.Body = body
		for p.blanks(); p.redir(&c); p.blanks() {
		}
		return c
	}
	p.simple(&c)
	return c
}

func (p *parser) simple(c *Command) {
	start := p.at
	for {
		p.blanks()
		if p.redir(c) {
			continue
		}
		if p.end() || strings.IndexByte("\n;|&)", p.peek()) >= 0 {
			break
		}
		if p.peek() == '(' {
			p.definition(c)
			return
		}
		if a, ok := p.assignment(len(c.Words) == 0 || declares(c.Words)); ok {
			c.Assign = append(c.Assign, a)
			continue
		}
		c.Words = append(c.Words, p.word())
	}
	if p.at == start {
		p.fail(errWord)
	}
}

// declares holds for commands whose arguments are assignments.
func declares(words []Word) bool {
	switch words[0].bare() {
	case "export", "declare", "typeset", "local", "readonly":
		return true
	}
	return false
}

// definition reads NAME () BODY, at its parenthesis.
func (p *parser) definition(c *Command) {
	name, ok := "", false
	if len(c.Words) == 1 && len(c.Assign) == 0 {
		name, ok = c.Words[0].Plain()
	}
	p.at++
	p.blanks()
	if !ok || !p.take(")") {
		p.fail(errParen)
	}
	p.function(c, name)
}

func (p *parser) function(c *Command, name string) {
	p.gap()
	body := p.command()
	c.Words = nil
	c.Body = &Compound{Kind: Func, Name: name, Lists: []List{{{Pipe: []Command{body}}}}}
}

// assignment reads one, if there is one here. In what declares reports, it may follow
// the command.
func (p *parser) assignment(may bool) (Assign, bool) {
	end := p.at
	for end < len(p.src) && nameByte(p.src[end], end == p.at) {
		end++
	}
	if !may || end == p.at || end >= len(p.src) {
		return Assign{}, false
	}
	a := Assign{Name: p.src[p.at:end]}
	rest := p.src[end:]
	if rest[0] == '[' {
		if i := strings.IndexAny(rest, "]\n;"); i > 0 && rest[i] == ']' {
			end, rest = end+i+1, rest[i+1:]
			a.Append = true // one more element is as good as this one
		}
	}
	switch {
	case strings.HasPrefix(rest, "+="):
		a.Append, p.at = true, end+2
	case strings.HasPrefix(rest, "="):
		p.at = end + 1
	default:
		return Assign{}, false
	}
	if p.take("(") {
		a.Array = true
		a.Values = p.array()
		return a, true
	}
	a.Values = []Word{p.word()}
	return a, true
}

func (p *parser) array() []Word {
	var out []Word
	for {
		p.gap()
		switch {
		case p.take(")"):
			return out
		case p.end(), strings.IndexByte(";|&<>(", p.peek()) >= 0:
			p.fail(errParen)
		}
		out = append(out, p.word())
	}
}

func nameByte(b byte, first bool) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || !first && b >= '0' && b <= '9'
}
