package microvm

import (
	"os"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/sandbox/far"
)

// console keeps the last words of a machine. It takes everything: a guest that prints without
// end costs time, and no room.
type console struct {
	mu   sync.Mutex
	text []byte
	over chan struct{} // closed when nobody can print any more
}

const lastWords = 8 << 10

func newConsole(from *os.File) *console {
	c := &console{over: make(chan struct{})}
	go func() {
		defer close(c.over)
		defer from.Close()
		buf := make([]byte, 4<<10)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			c.add(buf[:n])
		}
	}()
	return c
}

func (c *console) add(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text = append(c.text, b...); len(c.text) > 2*lastWords {
		c.text = append([]byte{}, c.text[len(c.text)-lastWords:]...)
	}
}

// said reports whether the machine printed something.
func (c *console) said(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(string(c.text), what)
}

// last are the last lines, for people.
func (c *console) last() string {
	const lines, long = 6, 300
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for line := range strings.Lines(string(c.text)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, far.Clean(line[:min(len(line), long)]))
		}
	}
	return strings.Join(out[max(0, len(out)-lines):], " / ")
}
