package kept

import (
	"bytes"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/control"
	"ringfence.dev/ringfence/internal/terminal"
)

// How an attachment ended.
type How int

// The ways.
const (
	Ended    How = iota // the session did, with Status
	Detached            // by the person
	Taken               // somebody else is attached, or let go of it from elsewhere
	Lost                // the session is gone without a word
)

// Client is the side of the person.
type Client struct {
	Conn *control.Conn
	In   *os.File // nil: nothing is typed
	Out  *os.File
	// Began is told of the id when the session runs; if it returns true the client
	// leaves.
	Began  func(id string) bool
	Status int // of the session, after Ended
}

// Run shows the session until it ends or the person leaves it.
func (c *Client) Run() (How, error) {
	defer c.Conn.Close()
	var out io.Writer = &terminal.Plain{W: c.Out}
	if c.In != nil {
		filter := terminal.NewFilter(c.Out, true)
		defer filter.Leave()
		out = filter
	}
	restore, err := c.raw()
	if err != nil {
		return Lost, err
	}
	defer restore()
	left := make(chan struct{}, 1)
	stop := c.signals(left)
	defer stop()
	if c.In != nil {
		go c.keys(left)
	}
	heard := make(chan How, 1)
	go func() { heard <- c.listen(out) }()
	select {
	case how := <-heard:
		return how, nil
	case <-left:
		// Nobody writes to the terminal when it is given back.
		c.Conn.Close()
		if how := <-heard; how == Ended {
			return how, nil
		}
		return Detached, nil
	}
}

// listen shows what comes.
func (c *Client) listen(out io.Writer) How {
	for {
		kind, body, err := c.Conn.Receive()
		if err != nil {
			return Lost
		}
		switch kind {
		case control.Output:
			out.Write(body)
		case control.Began:
			if c.Began != nil && c.Began(string(body)) {
				return Detached
			}
		case control.Taken:
			return Taken
		case control.Exited:
			c.Status, _ = control.StatusOf(body)
			return Ended
		}
	}
}

// raw lets every key through, where there are keys.
func (c *Client) raw() (restore func(), err error) {
	if c.In == nil {
		return func() {}, nil
	}
	return terminal.Raw(c.In)
}

// signals tells of the size of the terminal, and leaves when it is asked to.
func (c *Client) signals(left chan<- struct{}) (stop func()) {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, unix.SIGWINCH, unix.SIGHUP, unix.SIGTERM, unix.SIGINT)
	c.size()
	go func() {
		for s := range ch {
			if s == unix.SIGWINCH {
				c.size()
				continue
			}
			leave(left)
		}
	}()
	return func() { signal.Stop(ch); close(ch) }
}

func (c *Client) size() {
	if ws, err := terminal.Size(c.Out); err == nil {
		c.Conn.SendWindow(ws.Row, ws.Col)
	}
}

func leave(left chan<- struct{}) {
	select {
	case left <- struct{}{}:
	default:
	}
}

// keys passes on what is typed until the person detaches.
func (c *Client) keys(left chan<- struct{}) {
	buf := make([]byte, 4<<10)
	var d detacher
	for {
		n, err := c.In.Read(buf)
		pass, gone := d.take(buf[:n])
		if len(pass) > 0 && c.Conn.Send(control.Keys, pass) != nil {
			return
		}
		if gone || err != nil {
			leave(left)
			return
		}
	}
}

// prefixes are Ctrl-], as terminals send it: as ever, and with the keyboard protocol
// that some agents switch on.
var prefixes = [][]byte{{0x1d}, []byte("\x1b[93;5u"), []byte("\x1b[93;5:1u"), []byte("\x1b[27;5;93~")}

// releases are what that protocol sends when the key is let go.
var releases = [][]byte{[]byte("\x1b[93;5:3u"), []byte("\x1b[57442;1:3u"), []byte("\x1b[57442;5:3u")}

// detacher waits for Ctrl-] d. Ctrl-] twice is one Ctrl-] for the session; before any
// other key it is what it is.
type detacher struct{ held []byte }

func (d *detacher) take(typed []byte) (pass []byte, gone bool) {
	for len(typed) > 0 {
		if p := match(typed, prefixes); p != nil {
			if d.held != nil {
				pass, d.held = append(pass, p...), nil
			} else {
				d.held = p
			}
			typed = typed[len(p):]
			continue
		}
		if d.held != nil {
			if p := match(typed, releases); p != nil {
				typed = typed[len(p):]
				continue
			}
			if typed[0] == 'd' || bytes.HasPrefix(typed, []byte("\x1b[100u")) || bytes.HasPrefix(typed, []byte("\x1b[100;1u")) {
				return pass, true
			}
			pass, d.held = append(pass, d.held...), nil
		}
		pass, typed = append(pass, typed[0]), typed[1:]
	}
	return pass, false
}

func match(b []byte, any [][]byte) []byte {
	for _, p := range any {
		if bytes.HasPrefix(b, p) {
			return p
		}
	}
	return nil
}
