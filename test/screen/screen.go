// Package screen gathers what a terminal is sent and says what it has shown. What
// programs draw is long and comes in small pieces: each byte is looked at once.
package screen

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// Screen is everything since its beginning. Many may use it at once.
type Screen struct {
	mu      sync.Mutex
	all     bytes.Buffer
	settled strings.Builder // text of what came before rest
	rest    []byte          // begins with what may still be the half of a sequence
}

// control matches what moves the cursor or sets colours.
var control = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`)

// plain is text without control sequences and spaces: some programs write no spaces
// and move the cursor instead.
func plain(b []byte) string {
	return squeeze(string(control.ReplaceAll(b, nil)))
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// Write takes what the terminal is sent next.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(b)
	s.rest = append(s.rest, b...)
	if at := lastStart(s.rest); at > 0 {
		s.settled.WriteString(plain(s.rest[:at]))
		s.rest = append([]byte{}, s.rest[at:]...)
	}
	return len(b), nil
}

// lastStart is where the last sequence begins of which it is sure that it begins there:
// an escape may also end one, if a backslash follows. What is before it is whole. Where
// there is none at all, it is the last line.
func lastStart(b []byte) int {
	if bytes.IndexByte(b, '\x1b') < 0 {
		return bytes.LastIndexByte(b, '\n')
	}
	for end := len(b); ; {
		at := bytes.LastIndexByte(b[:end], '\x1b')
		if at < 0 || at+1 < len(b) && b[at+1] != '\\' {
			return at
		}
		end = at
	}
}

// Text is what was shown, without spaces.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled.String() + plain(s.rest)
}

// Shows reports whether a text was shown so far, however it was spaced.
func (s *Screen) Shows(text string) bool { return strings.Contains(s.Text(), squeeze(text)) }

// Holds reports whether these bytes were sent.
func (s *Screen) Holds(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Contains(s.all.Bytes(), []byte(text))
}

// String is all that was sent, as it was sent.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}
