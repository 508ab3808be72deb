package probe

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// NetArg makes the hidden command run the battery of the network. With a canary as
// a further argument it is the control: it stands in a network namespace of its own
// and takes the walls of it down first.
const NetArg = "net"

// netBattery is every probe of the network, in the order of the checks. The last one
// ends the network.
var netBattery = []struct {
	name  string
	tries bool // it needs something to try
	run   func(*NetTarget, string) Result
}{
	{"gate-loopback", true, (*NetTarget).shut},
	{"gate-own", true, (*NetTarget).shut},
	{"gate-embedded", true, (*NetTarget).shut},
	{"gate-metadata", true, (*NetTarget).shut},
	{"gate-private4", true, (*NetTarget).shut},
	{"gate-private6", true, (*NetTarget).shut},
	{"gate-literal", true, (*NetTarget).shut},
	{"gate-name", true, (*NetTarget).unknown},
	{"gate-tls", true, (*NetTarget).shut},
	{"gate-http", true, (*NetTarget).shut},
	{"gate-proxy", true, (*NetTarget).shut},
	{"gate-broker", true, (*NetTarget).shut},
	{"gate-decoy", true, (*NetTarget).shut},
	{"udp", false, (*NetTarget).datagrams},
	{"raw", false, (*NetTarget).raw},
	{"routes", false, (*NetTarget).routes},
	{"rules", false, (*NetTarget).rules},
	{"control", false, (*NetTarget).control},
	{"reach", true, (*NetTarget).reachable},
	{"death", true, (*NetTarget).death},
}

// NetNames lists the probes of the network.
func NetNames() []string {
	var out []string
	for _, p := range netBattery {
		out = append(out, p.name)
	}
	return out
}

// netMain answers for the battery of the network.
func netMain(args []string, in io.Reader) Answer {
	t, err := DecodeNetTarget(in)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	t.bare = len(args) > 0
	var out []Result
	why := t.away()
	if why != nil && t.bare {
		return Answer{Error: why.Error()}
	}
	if why != nil {
		for _, n := range NetNames() {
			out = append(out, open(n, "%v; nothing was tried", why))
		}
		return Answer{Results: out}
	}
	if t.bare {
		// Nobody is reached before there is a network: the control of reach.
		out = append(out, t.reachable("reach"))
		if err := t.takeDown(args[0]); err != nil {
			return Answer{Error: fmt.Sprintf("make a network without walls: %v", err)}
		}
	}
	t.six = haveIPv6()
	for _, p := range netBattery {
		if !t.bare || p.name != "reach" {
			out = append(out, p.run(t, p.name))
		}
	}
	return Answer{Results: out}
}

// away holds where no packet can leave: in a namespace that is not the host's and
// has nothing but loopback. Elsewhere a probe would do to somebody's network what it
// is there to rule out.
func (t *NetTarget) away() error {
	n, err := Namespace("self", "net")
	if err != nil {
		return err
	}
	if n == t.NS {
		return errors.New("this is the network of the host")
	}
	if r := Network(); r.Open {
		return errors.New("the network leads out: " + r.Detail)
	}
	return nil
}

// haveIPv6 asks for what a client would need.
func haveIPv6() bool {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrInet6{Addr: netip.IPv6Loopback().As16()}) == nil
}

// errNoIPv6 is a way that this kernel does not have.
var errNoIPv6 = errors.New("no IPv6 here")

// judge makes one result of several ways, each of which returns an error unless it
// leads there. None may; in the control every one must, or some would prove nothing.
func (t *NetTarget) judge(name string, ways []way) Result {
	var last error
	var beyond *beyond
	for _, w := range ways {
		err := w.do()
		switch {
		case err == nil && !t.bare:
			return open(name, "%s: it worked", w.to)
		case errors.As(err, &beyond) && !t.bare:
			return open(name, "%s: %v", w.to, beyond)
		case err != nil && t.bare && !errors.Is(err, errNoIPv6):
			return closed(name, "%s: %v", w.to, cause(err))
		case err != nil:
			last = err
		}
	}
	if t.bare {
		return open(name, "all ways lead there: %d", len(ways))
	}
	return closed(name, "no way leads there: %d were tried, the last one ended with %q", len(ways), cause(last))
}

// cause leaves out between which addresses it happened.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// beyond is an attempt that failed for another reason than its wall.
type beyond struct{ err error }

func (b *beyond) Error() string { return fmt.Sprintf("the wall did not answer: %v", cause(b.err)) }

// way is one attempt.
type way struct {
	to string
	do func() error
}

// shut wants none of the tries to reach its origin.
func (t *NetTarget) shut(name string) Result {
	var ways []way
	for _, try := range t.Tries[name] {
		ways = append(ways, way{try.String(), func() error { return t.any(try) }})
	}
	return t.judge(name, ways)
}

// unknown wants a definite answer that there is no such name, whoever is asked for
// whatever kind of record. What was looked up is for the witness outside to say.
func (t *NetTarget) unknown(name string) Result {
	var ways []way
	for _, try := range t.Tries[name] {
		for _, server := range t.Servers {
			for _, kind := range []uint16{typeA, typeAAAA, typeTXT, typeHTTPS} {
				ways = append(ways, way{fmt.Sprintf("%s asked of %s, type %d", try.Host, server.Addr(), kind), func() error {
					code, _, err := ask(server, try.Host, kind, netPatience)
					if err != nil {
						return &beyond{err}
					}
					if code == nxdomain {
						return errors.New("there is no such name")
					}
					return nil
				}})
			}
		}
	}
	return t.judge(name, ways)
}

// reachable wants every try to reach its origin, over every address that the name
// has inside.
func (t *NetTarget) reachable(name string) Result {
	for _, try := range t.Tries[name] {
		if err := t.every(try); err != nil {
			return open(name, "%s is not reached: %v", try, cause(err))
		}
	}
	return closed(name, "%d allowed ways lead there", len(t.Tries[name]))
}
