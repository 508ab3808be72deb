// Package policytest reads and runs tests of a policy: a file of lines such as
//
//	deny read ~/.ssh/**
//	allow connect api.github.com:443
//	hold write .git/hooks/**
//	deny push main
//
// Each line is held against what package reason says of a launch, and on wish against
// what a probe meets in a throw-away sandbox.
//
// Left at risk: a line says what its author thought of. What no line names is not
// tested, and a sandbox that is looked into changes nothing, so that a live test
// proves that a path can be opened and not that bytes arrive.
package policytest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
)

// Name is what the tests of a project are called, beside its policy.
const Name = ".ringfence.test"

// Bounds of a file.
const (
	maxFile  = 256 << 10
	maxLines = 2000 // expectations
	maxLine  = 4096 // bytes
)

// Want is what a line wants.
type Want string

// The wants. Deny is about the host: what is kept from it by any wall is denied, also
// what is held back or lands in the session's own. Allow is about the agent.
const (
	Deny  Want = "deny"
	Allow Want = "allow"
	Hold  Want = "hold"
)

// Line is one expectation.
type Line struct {
	Source  policy.Source
	Text    string
	Want    Want
	Access  string // of package reason
	Subject string // as it was written, without the stars
	Below   bool   // everything below it
}

// File is a file of tests.
type File struct {
	Name  string
	Agent string   // "": none was named
	Flags []string // of the launch
	Lines []Line
}

// accesses are the words for them, and the kind of subject that each takes.
var accesses = map[string]string{"read": why.Read, "write": why.Write, "exec": why.Execute,
	"connect": why.Connect, "resolve": why.Resolve, "env": why.Pass, "push": why.ToPush}

const hint = "write a line as: deny read ~/.ssh/**, allow connect HOST:PORT, deny env NAME, deny push main"

// Parse reads a file of tests, strictly: a line that is not understood would be a test
// that never runs.
func Parse(name string, data []byte) (*File, error) {
	if len(data) > maxFile {
		return nil, fault.New(fault.Usage, "", "%s: larger than %d bytes", policy.Source{File: name}, maxFile)
	}
	p := &parser{file: &File{Name: name}}
	for text := range bytes.Lines(data) {
		p.line++
		if err := p.read(strings.TrimRight(string(text), "\r\n")); err != nil {
			return nil, err
		}
	}
	if len(p.file.Lines) == 0 {
		return nil, fault.New(fault.Usage, hint, "%s: there is nothing to test in it", policy.Source{File: name})
	}
	return p.file, nil
}

type parser struct {
	file *File
	line int
	text string
}

// word is one of a line, with where it begins.
type word struct {
	text string
	at   int
}

func (p *parser) read(text string) error {
	p.text = text
	if len(text) > maxLine || !utf8.ValidString(text) || strings.ContainsFunc(text, hostile) {
		return p.fail(word{}, "the line is longer than %d bytes, or holds what cannot be seen", maxLine)
	}
	if i := comment(text); i >= 0 {
		text = text[:i]
	}
	words := split(text)
	if len(words) == 0 {
		return nil
	}
	switch words[0].text {
	case "agent", "flags":
		return p.setting(words)
	case string(Deny), string(Allow), string(Hold):
		return p.expectation(text, words)
	}
	return p.fail(words[0], "%q is none of deny, allow, hold, agent, flags", words[0].text)
}

// hostile holds for characters that no subject has and that a reader would not see.
func hostile(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}

// comment finds a # that begins a word.
func comment(text string) int {
	for i := range len(text) {
		if text[i] == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t') {
			return i
		}
	}
	return -1
}

func split(text string) []word {
	var out []word
	for i := 0; i < len(text); {
		if text[i] == ' ' || text[i] == '\t' {
			i++
			continue
		}
		end := i
		for end < len(text) && text[end] != ' ' && text[end] != '\t' {
			end++
		}
		out = append(out, word{text[i:end], i})
		i = end
	}
	return out
}

// setting reads what is tested. It stands above all tests, so that nobody has to
// look for what a line is about.
func (p *parser) setting(words []word) error {
	key := words[0]
	switch {
	case len(p.file.Lines) > 0:
		return p.fail(key, "%s stands above all tests", key.text)
	case len(words) < 2:
		return p.fail(key, "%s says nothing", key.text)
	case key.text == "agent" && p.file.Agent != "", key.text == "flags" && p.file.Flags != nil:
		return p.fail(key, "%s is said twice", key.text)
	case key.text == "agent" && len(words) > 2:
		return p.fail(words[2], "one agent, and nothing behind it")
	case key.text == "agent":
		p.file.Agent = words[1].text
		return nil
	}
	for _, w := range words[1:] {
		if strings.ContainsAny(w.text, `'"\`) {
			return p.fail(w, "words of flags have no quotes")
		}
		p.file.Flags = append(p.file.Flags, w.text)
	}
	return nil
}

func (p *parser) expectation(text string, words []word) error {
	if len(p.file.Lines) >= maxLines {
		return p.fail(words[0], "more than %d tests", maxLines)
	}
	l := Line{Source: policy.Source{File: p.file.Name, Line: p.line}, Want: Want(words[0].text)}
	if len(words) < 3 {
		return p.fail(words[0], "%s what? %s", words[0].text, hint)
	}
	var known bool
	if l.Access, known = accesses[words[1].text]; !known {
		return p.fail(words[1], "%q is none of read, write, exec, connect, resolve, env, push", words[1].text)
	}
	if l.Want == Hold && l.Access != why.Write {
		return p.fail(words[0], "only writes are held")
	}
	subject := word{strings.TrimRight(text[words[2].at:], " \t"), words[2].at}
	l.Subject = subject.text
	l.Text = strings.Join([]string{words[0].text, words[1].text, subject.text}, " ")
	if why := l.check(); why != "" {
		return p.fail(subject, "%s", why)
	}
	p.file.Lines = append(p.file.Lines, l)
	return nil
}

// check says what is wrong with the subject of a line.
func (l *Line) check() string {
	switch l.Access {
	case why.Read, why.Write, why.Execute:
		return l.checkPath()
	case why.Connect, why.Resolve:
		t, err := why.ParseHost(l.Subject)
		switch {
		case err != nil:
			return err.Error()
		case l.Access == why.Connect && t.Port == 0:
			return "a connection has a port: write HOST:PORT"
		case l.Access == why.Resolve && (t.Name == "" || t.Port != 0):
			return "what is resolved is a name, without a port"
		}
		return ""
	case why.Pass:
		if err := policy.Admit("env", "pass", l.Subject); err != nil {
			return err.Error()
		}
		return ""
	}
	return l.checkRef()
}

func (l *Line) checkPath() string {
	if dir, below := strings.CutSuffix(l.Subject, "/**"); below {
		l.Subject, l.Below = dir, true
	}
	switch {
	case l.Subject == "" || l.Subject == "~" && !l.Below || l.Subject == "/" && l.Below:
		return "that is everything: name what is meant"
	case strings.ContainsAny(l.Subject, "*?["):
		return "a star stands only at the end, as in DIR/**"
	case l.Subject[0] == '~' && l.Subject != "~" && !strings.HasPrefix(l.Subject, "~/"):
		return "write ~/PATH for a path of your own home"
	case l.Subject[0] != '~' && !filepath.IsAbs(l.Subject) && !filepath.IsLocal(l.Subject):
		return "a path is absolute, ~/PATH, or lies in the project"
	}
	return ""
}

func (l *Line) checkRef() string {
	if strings.HasPrefix(l.Subject, "refs/") {
		if strings.ContainsAny(l.Subject, " *?[~^:\\") {
			return "this is no name of a ref"
		}
		return ""
	}
	if strings.Contains(l.Subject, "*") {
		return "one branch by its name"
	}
	if err := policy.Admit("broker", "protected", l.Subject); err != nil {
		return err.Error()
	}
	return ""
}

// fail is the error a person sees: file and line, what is wrong, and the line itself
// with an underline.
func (p *parser) fail(w word, format string, args ...any) error {
	shown := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '\t' {
				return ' '
			}
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				return '?'
			}
			return r
		}, s)
	}
	const most = 60
	at := min(w.at, len(p.text))
	before, marked := []rune(shown(p.text[:at])), []rune(shown(w.text))
	if n := len(before); n > most {
		before = append([]rune{'…'}, before[n-most:]...)
	}
	rest := []rune(shown(p.text[min(at+len(w.text), len(p.text)):]))
	if len(marked) > most {
		marked, rest = append(marked[:most:most], '…'), nil
	}
	if len(rest) > most {
		rest = append(rest[:most:most], '…')
	}
	text := fmt.Sprintf(format, args...)
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	return fault.New(fault.Usage, hint, "%s: %s\n%5d | %s\n%5s | %s^%s", policy.Source{File: p.file.Name, Line: p.line}, text,
		p.line, strings.TrimRight(string(before)+string(marked)+string(rest), " "), "", strings.Repeat(" ", len(before)), strings.Repeat("~", max(len(marked)-1, 0)))
}
