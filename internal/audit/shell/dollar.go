package shell

import "strings"

// dollar is whatever begins with $.
func (p *parser) dollar(b *builder, double bool) {
	p.enter()
	defer p.leave()
	switch {
	case p.has("$'") && !double:
		p.at += 2
		p.ansi(b)
	case p.has("$\"") && !double:
		p.at += 2
		p.double(b, '"')
		b.empty()
	case p.has("$(("):
		start, parts := p.at, p.parts
		if arg, ok := p.arithmetic("$((", "))"); ok {
			b.part(Part{Kind: Arith, Quoted: double, Arg: arg})
			return
		}
		p.at, p.parts = start, parts
		p.substitution(b, double)
	case p.has("$("):
		p.substitution(b, double)
	case p.has("$["):
		arg, ok := p.arithmetic("$[", "]")
		if !ok {
			p.fail(errBrace)
		}
		b.part(Part{Kind: Arith, Quoted: double, Arg: arg})
	case p.has("${"):
		p.at += 2
		b.part(p.braces(double))
	default:
		p.at++
		p.variable(b, double)
	}
}

func (p *parser) substitution(b *builder, double bool) {
	p.at += 2
	saved, ends := p.docs, p.delim
	p.docs, p.delim = nil, nil
	list := p.list()
	if !p.take(")") {
		p.fail(errParen)
	}
	p.docs, p.delim = saved, ends
	b.part(Part{Kind: Cmd, Quoted: double, List: list})
}

// variable is $NAME or $ and one sign, behind the dollar.
func (p *parser) variable(b *builder, double bool) {
	end := p.at
	for end < len(p.src) && nameByte(p.src[end], end == p.at) {
		end++
	}
	if end == p.at && end < len(p.src) && strings.IndexByte("@*#?-$!0123456789", p.src[end]) >= 0 {
		end++
	}
	if end == p.at {
		b.add(double, "$")
		return
	}
	b.part(Part{Kind: Var, Quoted: double, Text: p.src[p.at:end]})
	p.at = end
}

// arithmetic reads between the parentheses. It fails where they do not match, since
// $((a) | b) is a substitution.
func (p *parser) arithmetic(open, shut string) (Word, bool) {
	p.at += len(open)
	var b builder
	depth := 0
	for !p.end() {
		switch c := p.peek(); {
		case depth == 0 && p.has(shut):
			p.at += len(shut)
			return p.count(b.done()), true
		case c == '(' || c == '[':
			depth++
			p.at++
		case c == ')' || c == ']':
			if depth--; depth < 0 {
				return nil, false
			}
			p.at++
		case c == ';' || c == '\n':
			if open == "$((" || c == '\n' {
				return nil, false
			}
			p.at++
		case c == '"' || c == '\'':
			p.at++
		default:
			p.piece(&b, true)
		}
	}
	return nil, false
}

// braces is ${…}, behind the brace.
func (p *parser) braces(double bool) Part {
	out := Part{Kind: Var, Quoted: double, Param: &Param{}}
	if p.peek() == '#' && !p.has("#}") {
		out.Param.Length = true
		p.at++
	}
	if p.peek() == '!' && !p.has("!}") {
		out.Param.Indirect = true
		p.at++
	}
	end := p.at
	for end < len(p.src) && (nameByte(p.src[end], false)) {
		end++
	}
	if end == p.at && end < len(p.src) && strings.IndexByte("@*#?-$!", p.src[end]) >= 0 {
		end++
	}
	out.Text, p.at = p.src[p.at:end], end
	if p.peek() == '[' {
		i := strings.IndexByte(p.src[p.at:], ']')
		if i < 0 {
			p.fail(errBrace)
		}
		out.Param.Index = p.src[p.at+1 : p.at+i]
		p.at += i + 1
	}
	p.operator(out.Param, double)
	if !p.take("}") {
		p.fail(errBrace)
	}
	return out
}

// operators of ${…}, the longer ones first.
var operators = []string{":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%", "^^", ",,", "-", "=", "+", "?", "#", "%", "/", ":", "^", ",", "@"}

func (p *parser) operator(out *Param, double bool) {
	for _, op := range operators {
		if !p.take(op) {
			continue
		}
		out.Op = op
		stop := ""
		switch op[0] {
		case '/':
			stop = "/"
		case ':':
			if op == ":" {
				stop = ":"
			}
		}
		out.Arg = p.operand(double, stop)
		if stop != "" && p.take(stop) {
			out.Arg2 = p.operand(double, "")
		}
		return
	}
}

// operand reads up to the closing brace or stop.
func (p *parser) operand(double bool, stop string) Word {
	var b builder
	for !p.end() && p.peek() != '}' && (stop == "" || !p.has(stop)) {
		if c := p.peek(); double && c == '"' {
			p.at++
			p.double(&b, '"')
			continue
		}
		p.piece(&b, false)
	}
	return p.count(b.done())
}

// ansi is $'…', behind its quote.
func (p *parser) ansi(b *builder) {
	var raw []byte
	for {
		if p.end() {
			p.fail(errQuote)
		}
		c := p.peek()
		p.at++
		if c == '\'' {
			break
		}
		if c == '\\' && !p.end() {
			raw = append(raw, c, p.peek())
			p.at++
			continue
		}
		raw = append(raw, c)
	}
	b.add(true, Unescape(string(raw)))
	b.empty()
}
