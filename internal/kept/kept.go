// Package kept is the terminal of a session that outlives the one it was started
// from. The session runs on a terminal of its own whose other side is held here: what
// it prints is remembered, and shown to whoever is attached; what that person types is
// passed on. One person is attached at a time, the last who asked.
//
// Everything that comes out has passed the filter of package terminal once already.
// What is left at risk: what was printed, secrets too, lies in the session's directory
// until the session is removed.
package kept

import (
	"bytes"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/control"
	"ringfence.dev/ringfence/internal/terminal"
)

const (
	// tailLimit is what somebody who attaches is shown of what was printed before.
	tailLimit = 16 << 10
	// takes is how long who is attached may take for what is printed. Then he is
	// detached: a terminal that hangs must not stop the session.
	takes = 10 * time.Second
	// redraw lies between two sizes that make a program draw its screen anew: one
	// that looks only now and then must see both.
	redraw = 150 * time.Millisecond
)

// Title is that of a terminal while a session has it, until the agent gives another.
const Title = "[fenced]"

// Terminal is the held side of a session's terminal.
type Terminal struct {
	master *os.File
	ended  chan struct{} // nothing more will be printed

	mu     sync.Mutex
	filter *terminal.Filter // remembers which modes are on
	client *control.Conn
	tail   []byte
	log    *Log
	size   unix.Winsize
}

// New holds master, and shows what comes out of it to first.
func New(master *os.File, first *control.Conn) *Terminal {
	t := &Terminal{master: master, ended: make(chan struct{}), client: first}
	t.filter = terminal.NewFilter((*sink)(t), true)
	go t.carry()
	if first != nil {
		go t.listen(first)
	}
	return t
}

// sink gets what the filter lets through; mu is held.
type sink Terminal

func (s *sink) Write(p []byte) (int, error) {
	(*Terminal)(s).show(control.Output, p)
	return len(p), nil
}

// show sends to who is attached, if he takes it; mu is held.
func (t *Terminal) show(kind byte, p []byte) {
	if t.client == nil {
		return
	}
	t.client.SetWriteDeadline(time.Now().Add(takes))
	if t.client.Send(kind, p) != nil {
		t.client.Close()
		t.client = nil
	}
}

// carry takes what is printed until nobody can print any more.
func (t *Terminal) carry() {
	defer close(t.ended)
	buf := make([]byte, 16<<10)
	for {
		n, err := t.master.Read(buf)
		if n > 0 {
			t.take(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (t *Terminal) take(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tail = append(t.tail, p...)
	if over := len(t.tail) - tailLimit; over > 0 {
		t.tail = append(t.tail[:0], t.tail[over:]...)
	}
	if t.log != nil {
		t.log.Write(p)
	}
	t.filter.Write(p)
}

// Record begins to write what is printed to a log.
func (t *Terminal) Record(log *Log) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = log
}

// Began tells who is attached that the session runs.
func (t *Terminal) Began(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.show(control.Began, []byte(id))
}

// Attached reports whether somebody is.
func (t *Terminal) Attached() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.client != nil
}

// Attach shows the terminal to c, and returns when c is no longer attached. Who was
// before is told that he is not.
func (t *Terminal) Attach(c *control.Conn, rows, cols uint16) {
	t.mu.Lock()
	t.drop(nil)
	t.client = c
	if !t.filter.Alternate() {
		t.show(control.Output, lines(t.tail))
	}
	t.filter.Return() // to the sink: the modes that are on
	t.show(control.Output, []byte("\x1b]2;"+Title+"\x07"))
	t.mu.Unlock()
	t.wake(rows, cols)
	t.listen(c)
}

// lines leaves out what is before the first whole line, which may be half of a
// sequence.
func lines(tail []byte) []byte {
	if len(tail) < tailLimit {
		return tail
	}
	_, rest, _ := bytes.Cut(tail, []byte("\n"))
	return rest
}

// wake makes what runs draw its screen anew.
func (t *Terminal) wake(rows, cols uint16) {
	if rows == 0 || cols == 0 {
		return
	}
	if rows > 1 && !t.resize(rows, cols) {
		t.resize(rows-1, cols)
		time.Sleep(redraw)
		t.resize(rows, cols)
	}
}

// resize reports whether the size was another before.
func (t *Terminal) resize(rows, cols uint16) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := unix.Winsize{Row: rows, Col: cols}
	if size == t.size {
		return false
	}
	t.size = size
	raw, err := t.master.SyscallConn()
	if err == nil {
		raw.Control(func(fd uintptr) { unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &size) })
	}
	return true
}

// Detach lets go of who is attached and reports whether anybody was.
func (t *Terminal) Detach() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.client != nil
	t.drop(nil)
	return was
}

// drop ends the connection to who is attached, if it is this one or any; mu is held.
func (t *Terminal) drop(c *control.Conn) {
	if t.client == nil || c != nil && t.client != c {
		return
	}
	if c == nil {
		t.show(control.Taken, nil)
	}
	if t.client != nil {
		t.client.Close()
	}
	t.client = nil
}

// listen passes on what c types until it ends.
func (t *Terminal) listen(c *control.Conn) {
	for {
		kind, body, err := c.Receive()
		if err != nil {
			t.mu.Lock()
			t.drop(c)
			t.mu.Unlock()
			return
		}
		switch kind {
		case control.Keys:
			t.master.Write(body)
		case control.Window:
			if rows, cols, ok := control.WindowOf(body); ok {
				t.resize(rows, cols)
			}
		}
	}
}

// finishes is how long the last output may take to arrive.
const finishes = 2 * time.Second

// Finish tells who is attached how the session went. Nobody may print any more: the
// other side of the terminal must be closed.
func (t *Terminal) Finish(status int) {
	select {
	case <-t.ended:
	case <-time.After(finishes):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client != nil {
		t.client.SetWriteDeadline(time.Now().Add(takes))
		t.client.SendStatus(status)
		t.client.Close()
		t.client = nil
	}
	if t.log != nil {
		t.log.Close()
	}
}
