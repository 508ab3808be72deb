package hand

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// answers is what a terminal does with what it is sent: asked for its status, it tells. It
// begins with that when a session is to end, which then waits for all answers. Before, the
// tests answer themselves, when they want to.
type answers struct {
	to io.Writer

	mu   sync.Mutex
	on   bool
	due  int    // questions that nobody has answered
	tail []byte // what may be the beginning of one
}

const asksStatus, statusOK = "\x1b[5n", "\x1b[0n"

// Write is told what the terminal is sent.
func (a *answers) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := append(a.tail, b...)
	a.due += bytes.Count(seen, []byte(asksStatus))
	a.tail = bytes.Clone(seen[max(0, len(seen)-len(asksStatus)+1):])
	a.answer()
	return len(b), nil
}

// typed is told what a test types.
func (a *answers) typed(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due -= strings.Count(text, statusOK)
}

// begin answers from now on, and what is due.
func (a *answers) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.on = true
	a.answer()
}

func (a *answers) answer() {
	if a.on && a.due > 0 {
		io.WriteString(a.to, strings.Repeat(statusOK, a.due)) // who asked may be gone
		a.due = 0
	}
}
