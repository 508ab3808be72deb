package control

import (
	"bytes"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/terminal"
)

// A detached session outlives the terminal it was started from. It runs on a terminal of
// its own whose other side is held here: what it prints is remembered, and shown to whoever
// is attached; what that person types is passed on. One person is attached at a time, the
// last who asked.
//
// Everything that comes out has passed the filter of package terminal once already.
// What is left at risk: what was printed, secrets too, lies in the session's directory
// until the session is removed.

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

// Mark is what the title of a terminal begins with while a session, or a command beside
// its agent, has it: whose terminal it is.
func Mark(session, command string) string {
	mark := "[fenced] " + session
	if command != "" {
		mark += " exec " + command
	}
	return mark
}

// Terminal is the held side of a session's terminal.
type Terminal struct {
	master *os.File
	ended  chan struct{} // nothing more will be printed

	mu     sync.Mutex
	filter *terminal.Filter // remembers which modes are on
	client *shown           // nil: nobody is attached
	title  string
	tail   []byte
	log    *Log
	size   unix.Winsize
}

// NewTerminal holds master, and shows what comes out of it to first.
func NewTerminal(master *os.File, first *Conn) *Terminal {
	t := &Terminal{master: master, ended: make(chan struct{})}
	t.filter = terminal.NewFilter((*sink)(t), true)
	if first != nil {
		t.client = show(first)
		go t.listen(t.client)
	}
	go t.carry()
	return t
}

// sink gets what the filter lets through; mu is held.
type sink Terminal

func (s *sink) Write(p []byte) (int, error) {
	(*Terminal)(s).show(Output, p)
	return len(p), nil
}

// show sends to who is attached; mu is held.
func (t *Terminal) show(kind byte, p []byte) {
	if t.client != nil {
		t.client.add(kind, p)
	}
}

// carry takes what is printed until nobody can print any more.
func (t *Terminal) carry() {
	defer close(t.ended)
	buf := make([]byte, 16<<10)
	for {
		n, err := t.master.Read(buf)
		if n > 0 {
			if client := t.take(buf[:n]); client != nil {
				client.room()
			}
		}
		if err != nil {
			return
		}
	}
}

// take remembers and shows what was printed, and returns who is shown it.
func (t *Terminal) take(p []byte) *shown {
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
	return t.client
}

// Record begins to write what is printed to a log.
func (t *Terminal) Record(log *Log) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = log
}

// Began tells who is attached that the session runs. Who attaches later finds the title.
func (t *Terminal) Began(id, title string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.title = title
	t.show(Began, []byte(id))
}

// Attached reports whether somebody is.
func (t *Terminal) Attached() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.client != nil
}

// Attach shows the terminal to c, and returns when c is no longer attached. Who was
// before is told that he is not.
func (t *Terminal) Attach(c *Conn, rows, cols uint16) {
	t.mu.Lock()
	t.drop(nil)
	me := show(c)
	t.client = me
	if !t.filter.Alternate() {
		// What was asked in it was answered then.
		terminal.NewFilter((*sink)(t), false).Write(lines(t.tail))
	}
	t.filter.Return() // to the sink: the modes that are on
	t.show(Output, []byte("\x1b]2;"+t.title+"\x07"))
	t.mu.Unlock()
	t.wake(rows, cols)
	t.listen(me)
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
func (t *Terminal) drop(c *shown) {
	if t.client == nil || c != nil && t.client != c {
		return
	}
	if c == nil {
		t.show(Taken, nil)
	}
	t.client.end()
	t.client = nil
}

// listen passes on what c types until it ends. A paste that is under way then ends for
// the session too: else the keys of the next would be part of it.
func (t *Terminal) listen(c *shown) {
	var pastes terminal.Pastes
	for {
		kind, body, err := c.conn.Receive()
		if err != nil {
			break
		}
		switch kind {
		case Keys:
			pastes.Follow(body, true)
			t.master.Write(body)
		case Window:
			if rows, cols, ok := WindowOf(body); ok {
				t.resize(rows, cols)
			}
		}
	}
	t.mu.Lock()
	t.drop(c)
	t.mu.Unlock()
	if pastes.Open() {
		t.master.WriteString(terminal.PasteEnd)
	}
}

// finishes is how long the last output may take to arrive, and each part of it.
const finishes = 2 * time.Second

// Finish tells who is attached how the session went. Nobody may print any more: the
// other side of the terminal must be closed.
func (t *Terminal) Finish(status int) {
	select {
	case <-t.ended:
	case <-time.After(finishes):
	}
	t.mu.Lock()
	client := t.client
	if client != nil {
		client.add(Exited, StatusBody(status))
		client.end()
		t.client = nil
	}
	if t.log != nil {
		t.log.Close()
	}
	t.mu.Unlock()
	if client != nil {
		<-client.done
	}
}
