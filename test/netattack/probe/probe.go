// Package probe is what the network attacks are made of: attempts that are plain
// data, and the code that makes them. The same list runs inside a sandbox and, as
// the control, on the bare host; who sent it judges what came of it.
//
// It reports and never judges: a redirected connection is accepted before anybody
// has decided about it, so that "connected" means nothing here. What counts is what
// was said, and what the witnesses outside saw.
package probe

import (
	"context"
	"sync"
	"time"
)

// Probe is one attempt. One of its parts is set.
type Probe struct {
	ID      string
	Talk    *Talk    // over TCP
	Packet  *Packet  // one that needs no connection
	Ask     *Ask     // DNS
	Socket  *Socket  // of a rare kind
	Command []string // a program, by its exit status
	Look    string   // what of the network can be seen, or changed
	Relay   *Relay
	Crowd   *Crowd
	Names   *Names
	Last    bool // only after all others are over
	Seconds int  // how long it may take, if longer than others
}

// Answer is what became of a probe.
type Answer struct {
	ID   string
	Got  []byte // what came back, bounded
	End  string // how it ended
	Done bool   // it did what it was to do, for those that can tell by themselves
	Text string // for people
}

// Where are the places that differ between a sandbox and the bare host.
type Where struct {
	Proxy4, Proxy6 string // the proxy endpoint
	Session        string
	Pace           time.Duration // between one attempt and the next
}

const (
	patience = 90 * time.Second
	atOnce   = 48
	maxGot   = 16 << 10
)

// Run makes all attempts, many at a time.
func Run(at Where, list []Probe) []Answer {
	out := make([]Answer, len(list))
	for _, last := range []bool{false, true} {
		if last && at.Pace > 0 {
			time.Sleep(time.Second) // what is counted by the second begins anew
		}
		var wg sync.WaitGroup
		slots := make(chan struct{}, atOnce)
		for i := range list {
			if list[i].Last != last {
				continue
			}
			time.Sleep(at.Pace)
			slots <- struct{}{}
			wg.Go(func() {
				out[i] = at.try(&list[i])
				<-slots
			})
		}
		wg.Wait()
	}
	return out
}

func (at Where) try(p *Probe) Answer {
	ctx, cancel := context.WithTimeout(context.Background(), max(patience, time.Duration(p.Seconds)*time.Second))
	defer cancel()
	var a Answer
	switch {
	case p.Talk != nil:
		a = at.talk(ctx, p.Talk)
	case p.Packet != nil:
		a = p.Packet.send()
	case p.Ask != nil:
		a = p.Ask.ask(ctx)
	case p.Socket != nil:
		a = p.Socket.open()
	case p.Command != nil:
		a = at.command(ctx, p.Command)
	case p.Look != "":
		a = at.look(p.Look)
	case p.Relay != nil:
		a = at.relay(ctx, p.Relay)
	case p.Names != nil:
		a = p.Names.ask(ctx)
	case p.Crowd != nil:
		a = at.crowd(ctx, p.Crowd)
	}
	a.ID = p.ID
	if len(a.Got) > maxGot {
		a.Got = a.Got[:maxGot]
	}
	return a
}

// The ways in which a conversation ends.
const (
	EOF     = "eof"
	Reset   = "reset"
	Refused = "refused"
	Timeout = "timeout"
	Enough  = "enough"  // what was waited for came
	NoName  = "no name" // the name has no address
)
