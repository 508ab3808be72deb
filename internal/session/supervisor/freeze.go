package supervisor

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
)

// plant lays the decoys of the session, if it has any.
func (l *live) plant() (io.Closer, error) {
	return l.session.Lure.Plant(control.Sessions, !slices.Contains(l.session.Rung.Offer().Views, plan.Live), l.wasRead)
}

// wasRead tells of a decoy that somebody opened.
func (l *live) wasRead(name string) {
	first := l.session.Lure.WasRead(name)
	l.gate.Record(journal.Record{Kind: journal.Decoy, Event: journal.Read, Secret: name})
	if first {
		l.Say(fmt.Sprintf("decoy credential %q was read inside", name))
	}
}

// caught stops the session: a decoy was about to leave, so somebody inside is stealing
// credentials. With a person there everything stands still until that person says
// what becomes of it; with nobody to ask, the session ends.
func (l *live) caught(c gate.Caught) {
	if l.began == nil {
		return // a proof: there is nobody to stop
	}
	<-l.began
	if !l.frozen.CompareAndSwap(false, true) {
		return
	}
	over := false // it ended by itself meanwhile
	select {
	case <-l.ended:
		over = true
	default:
	}
	text := fmt.Sprintf("decoy credential %q was about to leave to %s (%s): the session is frozen", c.Decoy, plan.Show(c.Host), c.Form)
	var err error
	if !over {
		err = l.box.Freeze()
	}
	if err != nil {
		text += ", as far as it could be: " + err.Error()
	}
	l.gate.Record(journal.Record{Kind: journal.Decoy, Event: journal.Frozen, Secret: c.Decoy, Name: c.Host})
	if l.talk.Person && err == nil && !over {
		l.alarm(fmt.Sprintf("a decoy was about to leave: session %s is frozen", l.session.ID), fmt.Sprintf("%s; look: ringfence log %s; end it: ringfence stop %[2]s; go on: ringfence thaw %[2]s", text, l.session.ID))
		return
	}
	l.End(text)
}

// alarm is a message that no earlier one may hold back.
func (l *live) alarm(short, text string) {
	if l.relay != nil {
		l.relay.Notify("ringfence: " + short)
		l.relay.Print("ringfence: " + text)
		return
	}
	l.talk.Warn(text)
}

// thaw lets them go on.
func (l *live) thaw() error {
	if !l.frozen.Load() {
		return errors.New("the session is not frozen")
	}
	<-l.began // it was, to be frozen
	l.frozen.Store(false)
	return l.box.Thaw()
}

// stop ends the session: the agent is asked, then told that its terminal is gone, and
// when grace is over everything inside is killed. Who asked for it hears the end of
// the connection when nothing is left.
func (l *live) stop(grace time.Duration) control.Reply {
	select {
	case <-l.began:
	default:
		return control.Reply{Error: "the session has not begun yet"}
	}
	return control.Reply{Then: func(c *control.Conn) {
		if l.deaf() {
			grace = 0
		}
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
			if grace <= 0 || l.endsWithin(s, grace/2) {
				break
			}
		}
		l.endBox()
		l.tell()
		c.Receive() // until we are gone, or the person is
	}}
}

// deaf says whether nobody inside would hear a signal: all stand still.
func (l *live) deaf() bool { return l.frozen.Load() || l.cut() }

// cut says whether the link of the sandbox is lost. It has begun.
func (l *live) cut() bool {
	box, lasts := l.box.(interface{ Broken() bool })
	return lasts && box.Broken()
}

// endBox ends the sandbox. A far end may then still bring over what waits for review; who says
// stop once more does not wait for that.
func (l *live) endBox() {
	if c, ok := l.box.(interface{ Cut() }); ok && l.shutting.Swap(true) {
		c.Cut()
	}
	l.box.Close()
}

// endsWithin signals the agent and reports whether the session ends in time.
func (l *live) endsWithin(s syscall.Signal, d time.Duration) bool {
	l.box.Signal(s)
	select {
	case <-l.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// ended says what ringfence itself ended the session for.
func (l *live) endedFor() error {
	if text := l.alarmed.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}
