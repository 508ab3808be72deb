package scan

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is read. The parser goes one level deeper for each thing that opens,
// at about 4 KiB of stack, and has no bound of its own. What is in quotes cannot be told
// apart before it is read, so everything that could open something counts.
const (
	maxShell  = 64 << 10
	maxOpened = 4096
)

var (
	errShellLong = errors.New("too long")
	errShellDeep = errors.New("too much is opened in it")
	errNul       = errors.New("it has a NUL, which no command line can have")
	errPanic     = errors.New("the parser gave up")
)

// openers are what a level may begin with, besides signs.
var openers = []string{"(", "{", "[", "?", "if", "while", "until", "for", "case", "select", "!"}

// ReadShell reads command lines as bash would, without running anything. It never panics.
//
// It reads what is written. What a variable of the environment, a file or a program holds
// is not known here, and neither are aliases and functions that a shell has from its
// start-up files. zsh has expansions that are read as plain text here, or not at all. What
// goes beyond the bounds is an error, and whoever asks has to decide without a tree.
func ReadShell(src string) (list []*syntax.Stmt, err error) {
	if len(src) > maxShell {
		return nil, errShellLong
	}
	if strings.IndexByte(src, 0) >= 0 {
		return nil, errNul // the parser would leave it out
	}
	opened := 0
	for _, o := range openers {
		opened += strings.Count(src, o)
	}
	if opened > maxOpened {
		return nil, errShellDeep
	}
	defer func() {
		if recover() != nil {
			list, err = nil, errPanic
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		return nil, err
	}
	return file.Stmts, nil
}

// ShellPlain returns the text of a word that is nothing but text, without its quotes.
func ShellPlain(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", true
	}
	return plainParts(w.Parts, false)
}

func plainParts(parts []syntax.WordPart, quoted bool) (string, bool) {
	out := ""
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.DblQuoted:
			s, ok := plainParts(p.Parts, true)
			if !ok {
				return "", false
			}
			out += s
		case *syntax.Lit, *syntax.SglQuoted:
			out += ShellText(p, quoted)
		default:
			return "", false
		}
	}
	return out, true
}

// ShellText is what a literal or a single-quoted part stands for. A literal in double quotes
// keeps most of its backslashes.
func ShellText(p syntax.WordPart, quoted bool) string {
	switch p := p.(type) {
	case *syntax.SglQuoted:
		if !p.Dollar {
			return p.Value
		}
		s, _, err := expand.Format(nil, p.Value, nil)
		if err != nil {
			return p.Value
		}
		s, _, _ = strings.Cut(s, "\x00")
		return s
	case *syntax.Lit:
		return unescape(p.Value, quoted)
	}
	return ""
}

func unescape(s string, quoted bool) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\", s[i+1]) >= 0) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
