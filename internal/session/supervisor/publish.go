package supervisor

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/lending"
)

// publish takes a port of the host's loopback, and marks it before.
func (d *door) publish(port uint16) (*net.TCPListener, error) {
	mark, err := lending.MarkPort(port)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
	if err != nil {
		unix.Close(mark)
		return nil, err
	}
	d.mu.Lock()
	if d.marks == nil {
		d.marks = map[uint16]int{}
	}
	d.marks[port] = mark
	d.mu.Unlock()
	return listener, nil
}

// shown are the ports that are published, since the launch or later.
func (d *door) shown() []policy.Port {
	d.mu.Lock()
	defer d.mu.Unlock()
	begun := slices.DeleteFunc(slices.Clone(d.session.Reach.Publish), func(p policy.Port) bool { return slices.Contains(d.gone, p.Host) })
	return append(begun, d.later...)
}

// publish shows a port of a running session on the host's loopback, until the session ends.
func (l *live) publish(text string) (control.Server, error) {
	host, inside, err := policy.ParsePublish(text)
	if err != nil {
		return control.Server{}, err
	}
	l.less.one.Lock() // so that nothing is published while all of it is taken away
	defer l.less.one.Unlock()
	d := l.door
	if d == nil || l.current().Mode() == launch.ModeNone {
		return control.Server{}, errors.New("the session has no network at all: start it without --net none")
	}
	select {
	case <-l.ended:
		return control.Server{}, errors.New("the session has ended")
	case <-l.began:
	default:
		return control.Server{}, errors.New("the session has not begun yet")
	}
	if err := errors.Join(l.session.BoundPublish(text), d.free(host, inside)); err != nil {
		return control.Server{}, err
	}
	port, err := d.publish(host)
	if err != nil {
		return control.Server{}, fmt.Errorf("port %d of the host cannot be had (%w): publish it as another one, %d:%d", host, err, freePort(), inside)
	}
	r := journal.Record{Kind: journal.Net, Event: journal.Grant, Verdict: journal.Allow, Via: "publish", Port: inside, Rule: "publish " + text, Source: "ringfence publish", Reason: "for this session"}
	if err := l.book.Write(r); err != nil { // what cannot be recorded does not happen
		port.Close()
		return control.Server{}, err
	}
	d.mu.Lock()
	d.later = append(d.later, policy.Port{Host: host, Inside: inside, Source: policy.Source{File: "ringfence publish"}})
	d.mu.Unlock()
	d.gate.Publish(port, inside)
	return control.Server{Port: inside, Published: host}, nil
}

// free says why a port cannot be published: it is ringfence's own, or stands for another.
func (d *door) free(host, inside uint16) error {
	for _, own := range append([]uint16{netns.Port, netns.Proxy, netns.Broker, netns.Resolver}, d.session.Reach.HostPorts...) {
		if own == inside {
			return fmt.Errorf("port %d inside is none of the agent's", inside)
		}
	}
	if slices.Contains(d.session.Reach.HostPorts, host) {
		return fmt.Errorf("port %d of the host is to be a server of the host, for the session", host)
	}
	for _, p := range d.shown() {
		if p.Host == host {
			return fmt.Errorf("port %d of the host shows port %d of this session already", host, p.Inside)
		}
	}
	return nil
}
