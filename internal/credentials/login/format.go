package login

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Agent names the program that a login belongs to.
type Agent string

const (
	Claude   Agent = "claude"
	Codex    Agent = "codex"
	Gemini   Agent = "gemini"
	Opencode Agent = "opencode"
)

// Agents are those whose logins are known. Sessions see no login file of any of them.
func Agents() []Agent { return []Agent{Claude, Codex, Gemini, Opencode} }

// errNone stands for a file that is whole and holds no login.
var errNone = errors.New("it holds no login")

// format is how one client keeps its login and how that is renewed.
type format struct {
	read     func(d *document) (grant, error)
	edits    func(d *document, g grant, now time.Time) []edit
	endpoint *Endpoint
	asking   func(path string) []string // directories that the client makes while it renews; may be nil
	saving   func(path string) string   // a file that it locks while it writes; may be nil
	again    string                     // how a person logs in
}

// formatOf knows the clients.
func formatOf(a Agent, provider string) (format, error) {
	if (provider != "") != (a == Opencode) {
		return format{}, fmt.Errorf("login of %s: provider %q", a, provider)
	}
	switch a {
	case Claude:
		return claudeFormat, nil
	case Codex:
		return codexFormat, nil
	case Gemini:
		return geminiFormat, nil
	case Opencode:
		return opencodeFormat(provider), nil
	}
	return format{}, fmt.Errorf("no login is known for %q", a)
}

// fields reads one member after another and keeps the first error.
type fields struct {
	d   *document
	err error
}

func (f *fields) str(path ...string) string {
	s, err := f.d.str(path...)
	if err == nil {
		err = sendable(s, path[len(path)-1])
	}
	f.keep(err)
	return s
}

func (f *fields) strs(path ...string) []string {
	list, err := f.d.strs(path...)
	f.keep(err)
	return list
}

// millis reads a time in milliseconds.
func (f *fields) millis(path ...string) time.Time {
	n, err := f.d.number(path...)
	f.keep(err)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}

func (f *fields) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

// maxToken bounds a token.
const maxToken = 32 << 10

// sendable refuses what cannot stand in a header.
func sendable(s, name string) error {
	if len(s) > maxToken {
		return fmt.Errorf("%q is longer than %d bytes", name, maxToken)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("%q holds what no header can", name)
	}
	return nil
}

// set adds an edit for a value that there is.
func set(edits []edit, value string, path ...string) []edit {
	if value == "" {
		return edits
	}
	return append(edits, edit{path, value})
}
