package control

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/terminal"
)

// How an attachment ended.
type How int

// The ways.
const (
	Ended     How = iota // the session did, with Status
	Detached             // by the person
	Displaced            // somebody else is attached, or let go of it from elsewhere
	Lost                 // the session is gone without a word
)

// Client is the side of the person.
type Client struct {
	Conn *Conn
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
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	if c.In != nil {
		return c.relay(ctx)
	}
	// Without keys a hang-up is heard here; with them the relay hears it.
	ctx, stop = signal.NotifyContext(ctx, unix.SIGHUP)
	defer stop()
	defer context.AfterFunc(ctx, func() { c.Conn.Close() })()
	if ws, err := terminal.Size(c.Out); err == nil {
		c.Conn.SendWindow(ws.Row, ws.Col)
	}
	how := c.listen(&terminal.Plain{W: c.Out})
	if how == Lost && ctx.Err() != nil {
		return Detached, nil
	}
	return how, nil
}

// relay stands between the person's terminal and the session, as the session's own relay
// stands between that and the agent: one way to give a terminal back, whoever has it.
func (c *Client) relay(ctx context.Context) (How, error) {
	far, near, err := Pair() // near is what the relay has in the place of a pty
	if err != nil {
		return Lost, err
	}
	defer near.Close()
	defer far.Close()
	var relay *terminal.Relay
	var keys detacher
	sizes := make(latest, 1)
	defer close(sizes)
	go func() {
		for ws := range sizes {
			c.Conn.SendWindow(ws.Row, ws.Col)
		}
	}()
	relay, err = terminal.New(terminal.Config{In: c.In, Out: c.Out, Master: near, Resize: sizes.set, Keys: keys.run,
		OnSignal: func(s os.Signal) {
			if s == unix.SIGTSTP { // of us alone: the session goes on
				relay.Suspend()
			}
		}})
	if err != nil {
		return Lost, err
	}
	sent, heard := make(chan struct{}), make(chan How, 1)
	go func() {
		defer close(sent)
		c.keys(far)
	}()
	go func() {
		heard <- c.listen(far)
		far.CloseWrite() // what came before is still shown
	}()
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP) // it may come when the relay has ended
	if relay.Run(ctx) == nil {
		return <-heard, nil
	}
	// What was typed before the person left is the session's.
	c.Conn.SetWriteDeadline(time.Now().Add(lastKeys))
	unix.Shutdown(int(near.Fd()), unix.SHUT_WR)
	<-sent
	c.Conn.Close()
	far.Close()
	if how := <-heard; how == Ended {
		return how, nil
	}
	return Detached, nil
}

// lastKeys is how long the session may take for what was typed before the person left.
const lastKeys = time.Second

// latest holds the last size that was not told yet. The relay must not wait for a session
// that takes nothing.
type latest chan *terminal.Winsize

func (l latest) set(ws *terminal.Winsize) {
	select {
	case <-l:
	default:
	}
	l <- ws
}

// listen shows what comes.
func (c *Client) listen(out io.Writer) How {
	for {
		kind, body, err := c.Conn.Receive()
		if err != nil {
			return Lost
		}
		switch kind {
		case Output:
			out.Write(body)
		case Began:
			if c.Began != nil && c.Began(string(body)) {
				return Detached
			}
		case Taken:
			return Displaced
		case Exited:
			c.Status, _ = StatusOf(body)
			return Ended
		}
	}
}

// keys passes on what is typed.
func (c *Client) keys(from io.Reader) {
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && c.Conn.Send(Keys, buf[:n]) != nil || err != nil {
			return
		}
	}
}

// press reads one key of those that matter here at the beginning of b: as ever, and as the
// keyboard protocols that some agents switch on spell it, with whatever else was asked to be
// reported: locks, other layouts, the text. n is 0 where it is none.
func press(b []byte) (k key, n int) {
	switch {
	case b[0] == 0x1d:
		return ctrlKey, 1
	case b[0] == 'd':
		return leaves, 1
	case bytes.HasPrefix(b, []byte("\x1b[27;5;93~")):
		return ctrlKey, 10
	case b[0] != 0x1b:
		return other, 0
	}
	m := spelled().FindSubmatch(b)
	if m == nil {
		return other, 0
	}
	code, _ := strconv.Atoi(string(m[1]))
	mods, _ := strconv.Atoi(string(m[2]))
	if mods > 0 {
		mods--
	}
	switch mods &^= capsLock | numLock; {
	case string(m[3]) == "3" || code >= firstModifier && code <= lastModifier:
		return silent, len(m[0])
	case code == ']' && mods == ctrl:
		return ctrlKey, len(m[0])
	case code == 'd' && mods == 0:
		return leaves, len(m[0])
	}
	return other, 0
}

// spelled is CSI code:others ; modifiers:event ; text u.
var spelled = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\x1b\[([0-9]{1,7})(?::[0-9:]{0,32})?(?:;([0-9]{0,3})(?::([0-9]))?(?:;[0-9:]{0,64})?)?u`)
})

type key int

const (
	other   key = iota
	ctrlKey     // Ctrl-]
	leaves      // d
	silent      // a key that was let go, or one such as Ctrl by itself
)

const (
	ctrl, capsLock, numLock     = 4, 64, 128
	firstModifier, lastModifier = 57441, 57454
)

// detacher waits for Ctrl-] d. Ctrl-] twice is one Ctrl-] for the session; before any
// other key it is what it is.
type detacher struct{ held []byte }

// run is for package terminal. In a paste the key is text as all else.
func (d *detacher) run(typed []byte, pasted bool) (pass []byte, gone bool) {
	if !pasted {
		return d.take(typed)
	}
	pass, d.held = append(d.held, typed...), nil
	return pass, false
}

func (d *detacher) take(typed []byte) (pass []byte, gone bool) {
	for len(typed) > 0 {
		k, n := press(typed)
		switch {
		case k == ctrlKey && d.held == nil:
			d.held, typed = bytes.Clone(typed[:n]), typed[n:]
			continue
		case k == ctrlKey:
			pass, d.held, typed = append(pass, typed[:n]...), nil, typed[n:]
			continue
		case k == silent && d.held != nil:
			typed = typed[n:]
			continue
		case k == leaves && d.held != nil:
			return pass, true
		}
		pass, d.held = append(pass, d.held...), nil
		pass, typed = append(pass, typed[0]), typed[1:]
	}
	return pass, false
}
