package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// A rung whose sandboxes are reached by a link is proved by attacking that link, as somebody
// can who has taken the far end over. Inside, a program holds a connection that policy
// allows and sends on it: while it does, the link works, and what it reaches is the witness.

// cutAfter is how long a link may last that was broken, and a connection over it.
const cutAfter = 5 * time.Second

// linkPatience bounds the wait for what must come.
const linkPatience = 20 * time.Second

// forgeries end a link. Each is said once the program inside is heard.
var forgeries = []struct {
	name string
	say  func(*tap) error
}{
	{"data on a stream that does not exist", func(t *tap) error { return t.say(forgedFrame(data, 0x7ffffffe, 4, []byte("data"))) }},
	{"a frame that claims more than its type has", func(t *tap) error { return t.say(forgedFrame(credit, 2, 0xffff, nil)) }},
	{"a connection to a port that does not exist", func(t *tap) error {
		_, err := t.connect("host", forbidden.String())
		return err
	}},
	{"connections without end", func(t *tap) error {
		for range 10000 {
			if _, err := t.connect("tcp", forbidden.String()); err != nil {
				return nil // it was cut off
			}
		}
		return nil
	}},
}

// forbidden is where no connection of a sandbox may lead.
var forbidden = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), anyPort)

// proveLink makes the results of the checks of a link.
func (c Config) proveLink(ctx context.Context, p *plant, control, inside map[string]probe.Result) {
	for _, name := range probe.LinkNames() {
		if c.Rung.Leaves[name] != "" {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.within(1+len(forgeries)))
	defer cancel()
	put := func(to map[string]probe.Result, name string, open bool, detail string) {
		to[name] = probe.Result{Name: name, Open: open, Detail: detail}
	}
	beats, err := c.cut(ctx, p)
	put(control, "link-end", beats > 0, fmt.Sprintf("%d bytes came over the link before it was cut", beats))
	put(inside, "link-end", err != nil, "nothing came after the link was cut")
	if err != nil {
		put(inside, "link-end", true, err.Error())
	}
	reached := c.answers(ctx, p)
	put(control, "link", reached == nil, fmt.Sprintf("who dials without a gate: %v", plainly(reached)))
	said := "each was refused, or ended the link"
	for _, f := range forgeries {
		if err = c.forge(ctx, p, f.say); err != nil {
			said = f.name + ": " + err.Error()
			break
		}
	}
	put(inside, "link", err != nil, said)
}

func plainly(err error) string {
	if err == nil {
		return "the canary answers"
	}
	return probe.Plain(err.Error())
}

// answers wants the canary to be there for who asks for a forbidden address and is not
// refused.
func (c Config) answers(ctx context.Context, p *plant) error {
	w, err := newWorld(p)
	if err != nil {
		return err
	}
	conn, err := w.dial(ctx, forbidden)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(linkPatience))
	heard, err := io.ReadAll(io.LimitReader(conn, int64(len(p.canary))+200))
	if !bytes.Contains(heard, []byte(p.canary)) {
		return errors.Join(errors.New("it does not answer"), err)
	}
	return nil
}

// tapped is a session over a link that can be attacked.
type tapped struct {
	world *world
	tap   *tap
	over  chan struct{} // closed when the session has ended
	err   error         // how
}

// begin starts one, and returns when the program inside is heard.
func (c Config) begin(ctx context.Context, p *plant) (*tapped, error) {
	w, err := newWorld(p)
	if err != nil {
		return nil, err
	}
	s := &tapped{world: w, over: make(chan struct{})}
	host := probe.HostName(public(91), "link."+string(p.zone()))
	g := &Gate{Allow: []string{fmt.Sprintf("tcp://*.%s:%d", p.zone(), anyPort)}, Lookup: w.lookup, Dial: w.dial, Brokered: p.zone().brokeredName(), Decoy: p.decoy}
	tries := p.attempts()
	tries[probe.BeatArg] = attempts{tries: []probe.Try{{Host: host, Port: anyPort}}}
	g.Ready = func(control string, _ func()) ([]byte, error) { return p.netTarget(tries, control) }
	go func() {
		runtime.LockOSThread() // what is started dies with it
		defer close(s.over)
		_, s.err = c.Launch(ctx, Job{Argv: []string{c.Self, probe.Arg, probe.BeatArg}, Self: c.Self, Env: p.environ, Workspace: p.workspace, Scratch: p.state, Gate: g,
			Link: func(rw io.ReadWriteCloser) io.ReadWriteCloser { s.tap = newTap(rw); return s.tap }})
	}()
	if !s.until(linkPatience+c.Rung.Slow, func() bool { return w.bytes(public(91)) > 0 }) {
		if err = errors.New("the program inside was not heard"); s.ended(0) && s.err != nil {
			err = s.err
		}
		return nil, err
	}
	return s, nil
}

// until waits for something, as long as the session lasts.
func (s *tapped) until(most time.Duration, holds func() bool) bool {
	deadline := time.Now().Add(most)
	for ; !holds(); time.Sleep(time.Millisecond) {
		if s.ended(0) || time.Now().After(deadline) {
			return holds()
		}
	}
	return true
}

// ended says whether the session ends in time.
func (s *tapped) ended(within time.Duration) bool {
	select {
	case <-s.over:
		return true
	case <-time.After(within):
		return false
	}
}

// forge lets the far end say something that ends the link, after a connection that
// the gate refuses. Nothing may be reached by either.
func (c Config) forge(ctx context.Context, p *plant, say func(*tap) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.begin(ctx, p)
	if err != nil {
		return err
	}
	defer func() { cancel(); <-s.over }()
	stream, err := s.tap.connect("tcp", forbidden.String())
	if err != nil {
		return err
	}
	if !s.until(linkPatience, func() bool { return s.tap.refused(stream) }) {
		return errors.New("a connection that the gate must refuse was not")
	}
	if err := say(s.tap); err != nil && !errors.Is(err, errCut) {
		return err
	}
	if !s.ended(cutAfter + c.Rung.Slow) {
		return errors.New("the link goes on")
	}
	if s.err == nil || !strings.Contains(s.err.Error(), "far end") {
		return fmt.Errorf("the session ended as if nothing were: %v", s.err)
	}
	if n := s.world.dials(forbidden.Addr()); n > 0 {
		return fmt.Errorf("%d connections were made to an address that is closed", n)
	}
	return nil
}

// cut ends the link under a connection. It says how much came before.
func (c Config) cut(ctx context.Context, p *plant) (before int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.begin(ctx, p)
	if err != nil {
		return 0, err
	}
	defer func() { cancel(); <-s.over }()
	before = s.world.bytes(public(91))
	s.tap.Close()
	for deadline := time.Now().Add(cutAfter); s.world.opened() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return before, errors.New("a connection outlives the link")
		}
	}
	switch {
	case !s.ended(cutAfter + c.Rung.Slow):
		return before, errors.New("the session outlives the link")
	case s.err == nil:
		return before, errors.New("the session ended as if nothing were")
	}
	return before, nil
}
