package hook

import (
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/audit/shell"
)

// maxFields bounds what one word may become.
const maxFields = 256

// fields expands a word into arguments: braces, tilde, variables, substitutions,
// splitting. Patterns stay as they are: nothing is looked up.
func (w *walk) fields(word shell.Word) []string {
	var out []string
	for _, alt := range braces(word) {
		out = append(out, w.split(alt)...)
		if len(out) > maxFields {
			return append(out[:maxFields], string(some))
		}
	}
	return out
}

func (w *walk) allFields(words []shell.Word) []string {
	var out []string
	for _, word := range words {
		out = append(out, w.fields(word)...)
	}
	if len(out) > 4*maxFields {
		out = append(out[:4*maxFields], string(some))
	}
	return out
}

// gather builds the arguments that a word becomes.
type gather struct {
	out  []string
	cur  string
	have bool
}

func (g *gather) add(s string) { g.cur, g.have = g.cur+s, true }

func (g *gather) flush() {
	if g.have {
		g.out = append(g.out, short(g.cur))
	}
	g.cur, g.have = "", false
}

// spread adds what is split at the bytes of ifs.
func (g *gather) spread(v, ifs string) {
	sep := func(r rune) bool { return strings.ContainsRune(ifs, r) }
	if v == "" {
		return
	}
	if sep(rune(v[0])) {
		g.flush()
	}
	pieces := strings.FieldsFunc(v, sep)
	for i, piece := range pieces {
		if i > 0 {
			g.flush()
		}
		g.add(piece)
	}
	if len(pieces) > 0 && sep(rune(v[len(v)-1])) {
		g.flush()
	}
}

// split expands a word without braces.
func (w *walk) split(word shell.Word) []string {
	var g gather
	for i, p := range word {
		switch {
		case p.Kind == shell.Text && p.Quoted:
			g.add(p.Text)
			continue
		case p.Kind == shell.Text:
			text := patterns(p.Text)
			if i == 0 {
				text = w.tilde(text)
			}
			g.add(text)
			continue
		}
		values, list := w.part(p)
		if p.Quoted && !list {
			g.add(strings.Join(values, " "))
			continue
		}
		for j, v := range values {
			if j > 0 {
				g.flush()
			}
			if p.Quoted {
				g.add(v)
			} else {
				g.spread(patterns(v), w.ifs())
			}
		}
	}
	g.flush()
	return g.out
}

// ifs is what separates words that come out of an expansion.
func (w *walk) ifs() string {
	if v, ok := w.vars["IFS"]; ok && len(v) > 0 && known(v[0]) {
		return v[0]
	}
	return " \t\n"
}

// text expands a word into one value, as in an assignment or double quotes.
func (w *walk) text(word shell.Word) string {
	out := ""
	for i, p := range word {
		switch {
		case p.Kind == shell.Text && !p.Quoted && i == 0:
			out += w.tilde(p.Text)
		case p.Kind == shell.Text:
			out += p.Text
		default:
			values, _ := w.part(p)
			out += strings.Join(values, " ")
		}
	}
	return short(out)
}

// patterns marks what makes a pattern.
func patterns(s string) string {
	if !strings.ContainsAny(s, "*?[") {
		return s
	}
	return strings.NewReplacer("*", "\x01", "?", "\x02", "[", "\x03").Replace(s)
}

func (w *walk) tilde(s string) string {
	if s == "" || s[0] != '~' {
		return s
	}
	name, rest, slash := strings.Cut(s[1:], "/")
	if slash {
		rest = "/" + rest
	}
	switch {
	case name == "":
		return w.where.Home + rest
	case name == "+":
		return w.dir + rest
	case name == "root":
		return "/root" + rest
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == "" && name != "-":
		return "/home/" + name + rest
	}
	return s
}

// part expands what is not text. A list keeps its elements apart even in quotes.
func (w *walk) part(p shell.Part) (values []string, list bool) {
	switch p.Kind {
	case shell.Var:
		return w.variable(p)
	case shell.Cmd:
		return []string{strings.TrimRight(w.inSubshell(p.List, w.stdin), "\n")}, false
	case shell.ProcIn:
		return []string{w.file(w.inSubshell(p.List, ""))}, false
	case shell.ProcOut:
		w.outs = append(w.outs, p.List)
		return []string{w.file("")}, false
	case shell.Doc:
		return []string{w.text(p.Arg)}, false
	}
	return []string{w.sum(p.Arg)}, false
}

// sum is an arithmetic expansion: a number, which is known if it is written so.
func (w *walk) sum(arg shell.Word) string {
	v := strings.TrimSpace(w.text(arg))
	if n, err := strconv.ParseInt(v, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return string(some)
}

// file names what is read from a process: the name leads to its output.
func (w *walk) file(content string) string {
	name := "/dev/fd/" + strconv.Itoa(200+len(w.files))
	w.files[name] = content
	return name
}

// braces expands {a,b} and {1..3} of what is not quoted.
func braces(word shell.Word) []shell.Word {
	const most = 64
	out := []shell.Word{word}
	for done := 0; done < len(out) && len(out) < most; {
		more := brace(out[done])
		if more == nil {
			done++
			continue
		}
		rest := append([]shell.Word(nil), out[done+1:]...)
		out = append(append(out[:done:done], more...), rest...)
	}
	return out
}

// spot is a place in a word: part and byte.
type spot struct{ part, at int }

// brace expands the first braces of a word that are to be expanded; nil if there are
// none.
func brace(word shell.Word) []shell.Word {
	for i, p := range word {
		if p.Kind != shell.Text || p.Quoted {
			continue
		}
		for j := range len(p.Text) {
			if p.Text[j] != '{' {
				continue
			}
			cuts, ok := match(word, spot{i, j})
			if !ok {
				continue
			}
			if alts := alternatives(word, cuts); alts != nil {
				return alts
			}
		}
	}
	return nil
}

// match finds the commas and the end of the braces that open at a spot.
func match(word shell.Word, open spot) (cuts []spot, ok bool) {
	depth := 0
	cuts = []spot{open}
	for i := open.part; i < len(word); i++ {
		p := word[i]
		if p.Kind != shell.Text || p.Quoted {
			continue
		}
		start := 0
		if i == open.part {
			start = open.at + 1
		}
		for j := start; j < len(p.Text); j++ {
			switch p.Text[j] {
			case '{':
				depth++
			case ',':
				if depth == 0 {
					cuts = append(cuts, spot{i, j})
				}
			case '}':
				if depth == 0 {
					return append(cuts, spot{i, j}), true
				}
				depth--
			}
		}
	}
	return nil, false
}

// alternatives makes one word of each.
func alternatives(word shell.Word, cuts []spot) []shell.Word {
	first, last := cuts[0], cuts[len(cuts)-1]
	head, tail := between(word, spot{0, -1}, first), between(word, last, spot{len(word), 0})
	var middles []shell.Word
	if len(cuts) > 2 {
		for i := 1; i < len(cuts); i++ {
			middles = append(middles, between(word, cuts[i-1], cuts[i]))
		}
	} else if text, ok := between(word, first, last).Plain(); ok {
		middles = sequence(text)
	}
	var out []shell.Word
	for _, m := range middles {
		out = append(out, append(append(append(shell.Word{}, head...), m...), tail...))
	}
	return out
}

// between is the part of a word that lies between two spots.
func between(word shell.Word, from, to spot) shell.Word {
	var out shell.Word
	for i := from.part; i < len(word) && i <= to.part; i++ {
		p := word[i]
		if p.Kind == shell.Text && (i == from.part && from.at >= -1 || i == to.part) {
			start, end := 0, len(p.Text)
			if i == from.part {
				start = from.at + 1
			}
			if i == to.part {
				end = to.at
			}
			p.Text = p.Text[start:end]
			if p.Text == "" && !p.Quoted {
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// sequence is 1..5 or a..e.
func sequence(text string) []shell.Word {
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return nil
	}
	to, _, _ = strings.Cut(to, "..")
	word := func(s string) shell.Word { return shell.Word{{Kind: shell.Text, Text: s}} }
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	letters := errA != nil && errB != nil && len(from) == 1 && len(to) == 1
	if letters {
		a, b = int(from[0]), int(to[0])
	} else if errA != nil || errB != nil {
		return nil
	}
	var out []shell.Word
	for n := min(a, b); n <= max(a, b) && len(out) < 32; n++ {
		if letters {
			out = append(out, word(string(rune(n))))
		} else {
			out = append(out, word(strconv.Itoa(n)))
		}
	}
	return out
}
