package shell

import "strings"

// redirections, the longer ones first.
var redirections = []string{"&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">"}

// redir reads a redirection, if there is one here.
func (p *parser) redir(c *Command) bool {
	start := p.at
	fd := p.descriptor()
	for _, op := range redirections {
		if !p.take(op) {
			continue
		}
		if (op == "<" || op == ">") && p.peek() == '(' {
			break // a process
		}
		p.blanks()
		r := Redir{FD: fd, Op: op}
		at := p.at
		if r.Target = p.word(); p.at == at {
			p.fail(errWord)
		}
		c.Redirs = append(c.Redirs, r)
		if op == "<<" || op == "<<-" {
			p.promise(c, op == "<<-")
		}
		return true
	}
	p.at = start
	return false
}

// descriptor is the number, or the {NAME}, right before a redirection.
func (p *parser) descriptor() string {
	end := p.at
	if end < len(p.src) && p.src[end] == '{' {
		for end++; end < len(p.src) && nameByte(p.src[end], false); end++ {
		}
		if end >= len(p.src) || p.src[end] != '}' {
			return ""
		}
		end++
	} else {
		for end < len(p.src) && p.src[end] >= '0' && p.src[end] <= '9' {
			end++
		}
	}
	if end == p.at || end >= len(p.src) || p.src[end] != '<' && p.src[end] != '>' {
		return ""
	}
	fd := p.src[p.at:end]
	p.at = end
	return fd
}

// promise remembers a here-document whose text comes with the next line. The slice of
// redirections may move, so that it is found again by its command.
func (p *parser) promise(c *Command, tabs bool) {
	r := &c.Redirs[len(c.Redirs)-1]
	end := docEnd{tabs: tabs}
	for _, part := range r.Target {
		end.word += part.Text
		end.quoted = end.quoted || part.Quoted
	}
	r.Doc = Word{{Kind: Text, Quoted: true}}
	p.docs = append(p.docs, &Redir{Doc: r.Doc})
	p.delim = append(p.delim, end)
}

// documents reads the texts of the here-documents that wait.
func (p *parser) documents() {
	docs, ends := p.docs, p.delim
	p.docs, p.delim = nil, nil
	for i, doc := range docs {
		body := p.document(ends[i])
		text := Word{{Kind: Text, Quoted: true, Text: body}}
		if !ends[i].quoted {
			sub := &parser{src: body, depth: p.depth, parts: p.parts}
			sub.enter()
			var b builder
			sub.double(&b, 0)
			text = sub.count(b.done())
			p.parts = sub.parts
		}
		// The redirection has the same array under its Doc: one part that stands
		// for the text.
		doc.Doc[0] = Part{Kind: Doc, Quoted: true, Arg: text}
	}
}

// document takes the lines up to the one that ends it.
func (p *parser) document(end docEnd) string {
	var b strings.Builder
	for !p.end() {
		line := p.src[p.at:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		p.at = min(p.at+len(line)+1, len(p.src))
		if end.tabs {
			line = strings.TrimLeft(line, "\t")
		}
		if line == end.word {
			// The newline is left, since it ends the command too.
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
