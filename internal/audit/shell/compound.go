package shell

import "strings"

// compound reads a compound command, if there is one here.
func (p *parser) compound() *Compound {
	if p.peek() == '(' {
		return p.parenthesis()
	}
	word := p.reserved()
	switch word {
	case "{":
		p.at++
		return &Compound{Lists: []List{p.until("}")}}
	case "if", "while", "until":
		p.at += len(word)
		return p.conditional(word)
	case "for", "select":
		p.at += len(word)
		return p.loop()
	case "case":
		p.at += len(word)
		return p.choice()
	case "[[":
		p.at += 2
		return p.test()
	case "function":
		p.at += len(word)
		return p.named()
	}
	return nil
}

// until reads a list and the word that ends it.
func (p *parser) until(words ...string) List {
	list := p.list()
	got := p.closer()
	for _, w := range words {
		if got == w {
			p.at += len(w)
			return list
		}
	}
	p.fail(errBody)
	return nil
}

// parenthesis is a subshell, or arithmetic in two of them.
func (p *parser) parenthesis() *Compound {
	if p.has("((") {
		start, parts := p.at, p.parts
		if arg, ok := p.arithmetic("((", "))"); ok {
			return &Compound{Kind: Test, Words: []Word{arg}}
		}
		p.at, p.parts = start, parts
	}
	p.at++
	list := p.list()
	if !p.take(")") {
		p.fail(errParen)
	}
	return &Compound{Kind: Subshell, Lists: []List{list}}
}

// conditional is if, while or until, behind its first word.
func (p *parser) conditional(word string) *Compound {
	c := &Compound{}
	if word != "if" {
		c.Lists = append(c.Lists, p.until("do"), p.until("done"))
		return c
	}
	for {
		c.Lists = append(c.Lists, p.until("then"))
		c.Lists = append(c.Lists, p.list())
		end := p.closer()
		p.at += len(end)
		switch end {
		case "fi":
			return c
		case "elif":
		case "else":
			c.Lists = append(c.Lists, p.until("fi"))
			return c
		default:
			p.fail(errBody)
		}
	}
}

// loop is for or select, behind the word.
func (p *parser) loop() *Compound {
	c := &Compound{Kind: For}
	p.blanks()
	if p.has("((") {
		arg, ok := p.arithmetic("((", "))")
		if !ok {
			p.fail(errParen)
		}
		c.Kind, c.Words = Group, nil
		c.Lists = append(c.Lists, List{{Pipe: []Command{{Body: &Compound{Kind: Test, Words: []Word{arg}}}}}})
	} else {
		c.Name, _ = p.word().Plain()
		p.gap()
		c.InArgs = p.reserved() != "in"
		if !c.InArgs {
			p.at += 2
			for p.blanks(); !p.end() && p.peek() != ';' && p.peek() != '\n'; p.blanks() {
				c.Words = append(c.Words, p.word())
			}
		}
	}
	p.blanks()
	p.take(";")
	p.gap()
	switch p.reserved() {
	case "do":
		p.at += 2
		c.Lists = append(c.Lists, p.until("done"))
	case "{":
		p.at++
		c.Lists = append(c.Lists, p.until("}"))
	default:
		p.fail(errBody)
	}
	return c
}

// choice is case, behind the word.
func (p *parser) choice() *Compound {
	p.blanks()
	c := &Compound{Kind: Case, Words: []Word{p.word()}}
	p.gap()
	if p.reserved() != "in" {
		p.fail(errBody)
	}
	p.at += 2
	for {
		p.gap()
		if p.reserved() == "esac" {
			p.at += len("esac")
			return c
		}
		p.take("(")
		for {
			p.blanks()
			c.Words = append(c.Words, p.word())
			p.blanks()
			if !p.take("|") {
				break
			}
		}
		if !p.take(")") {
			p.fail(errBody)
		}
		c.Lists = append(c.Lists, p.list())
		if !p.take(";;&") && !p.take(";;") && !p.take(";&") && p.closer() != "esac" {
			p.fail(errBody)
		}
	}
}

// test is [[ … ]], behind its brackets. Its words are kept for what they substitute.
func (p *parser) test() *Compound {
	c := &Compound{Kind: Test}
	for {
		p.gap()
		switch {
		case p.end():
			p.fail(errBody)
		case p.reserved() == "]]":
			p.at += 2
			return c
		case strings.IndexByte("()<>&|;", p.peek()) >= 0 && !p.has("<(") && !p.has(">("):
			p.at++
		default:
			c.Words = append(c.Words, p.word())
		}
	}
}

// named is a function, behind the word.
func (p *parser) named() *Compound {
	p.blanks()
	name, ok := p.word().Plain()
	p.blanks()
	if p.take("(") {
		p.blanks()
		ok = ok && p.take(")")
	}
	if !ok {
		p.fail(errWord)
	}
	var c Command
	p.function(&c, name)
	return c.Body
}
