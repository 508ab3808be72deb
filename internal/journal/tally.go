package journal

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxHosts bounds a Tally. Hosts that were only denied get half of it: an agent
// that asks for ten thousand names cannot hide the one to which it sent.
const (
	maxHosts  = 10_000
	maxDenied = maxHosts / 2
)

// Line is what a Tally knows of one host.
type Line struct {
	Host     string // a name, or an address with its port; as the agent sent it
	Others   bool   // the sum of hosts that have no line of their own
	Conns    int    // connections that have ended
	Requests int    // that the broker made and that have ended
	Sent     int64
	Received int64
	Denied   int
	Reason   string // of the last denial
}

// Tally adds up the records of a session as they are made. Its zero value is
// empty; it may be used by many goroutines.
type Tally struct {
	mu     sync.Mutex
	hosts  map[string]*Line
	denied int // lines of hosts that were only denied
	others Line
}

// Add counts a record: a connection or a request of the broker's and its bytes with its
// End, unless that has the verdict deny and no bytes; a denial with its Decision, or as
// Refused. All else is ignored. Connections that end at the broker count as such and send
// nothing: what leaves is what its requests send.
func (t *Tally) Add(r Record) {
	passed := r.Event == End && (r.Verdict != Deny || r.Sent > 0 || r.Received > 0)
	denied := (r.Event == Decision || r.Event == Refused) && r.Verdict == Deny
	host := hostOf(r)
	more := host == "" && r.Event == Refused
	if host == "" && !more || !passed && !denied {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.others
	if !more {
		l = t.line(host, passed)
	}
	count := int64(max(r.Count, 1))
	if denied {
		l.Denied = int(add(int64(l.Denied), count))
		l.Reason = bound(r.Reason, maxText)
		return
	}
	if r.Kind == Broker {
		l.Requests = int(add(int64(l.Requests), count))
	} else {
		l.Conns = int(add(int64(l.Conns), count))
	}
	if r.State == Brokered {
		return
	}
	l.Sent, l.Received = add(l.Sent, r.Sent), add(l.Received, r.Received)
}

// line finds or makes the line of a host.
func (t *Tally) line(host string, passed bool) *Line {
	l := t.hosts[host]
	switch {
	case l != nil && l.Conns == 0 && l.Requests == 0 && passed:
		t.denied--
	case l != nil:
	case len(t.hosts) >= maxHosts, !passed && t.denied >= maxDenied:
		return &t.others
	default:
		if t.hosts == nil {
			t.hosts = map[string]*Line{}
		}
		l = &Line{Host: host}
		t.hosts[host] = l
		if !passed {
			t.denied++
		}
	}
	return l
}

// Top returns at most n lines, those with the most bytes first and then those
// with the most denials. When there are more, the last of them sums up the rest.
func (t *Tally) Top(n int) []Line {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n <= 0 {
		return nil
	}
	all := make([]Line, 0, len(t.hosts))
	for _, l := range t.hosts {
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b Line) int {
		return cmp.Or(cmp.Compare(add(b.Sent, b.Received), add(a.Sent, a.Received)),
			cmp.Compare(b.Denied, a.Denied), strings.Compare(a.Host, b.Host))
	})
	others := t.others
	if len(all) <= n && others == (Line{}) {
		return all
	}
	shown := min(len(all), n-1)
	for _, l := range all[shown:] {
		others.sum(l)
	}
	others.Others = true
	return append(all[:shown], others)
}

func (l *Line) sum(m Line) {
	l.Conns, l.Requests, l.Denied = l.Conns+m.Conns, l.Requests+m.Requests, l.Denied+m.Denied
	l.Sent, l.Received = add(l.Sent, m.Sent), add(l.Received, m.Received)
	l.Reason = cmp.Or(l.Reason, m.Reason)
}

// hostOf is the name, or the address and port where there is no name.
func hostOf(r Record) string {
	if r.Name != "" || r.Addr == "" {
		return bound(r.Name, maxText)
	}
	if a, err := netip.ParseAddr(r.Addr); err == nil {
		return netip.AddrPortFrom(a, r.Port).String()
	}
	return bound(r.Addr, maxText) + ":" + strconv.Itoa(int(r.Port))
}

// add does not overflow. Negative numbers count as none.
func add(a, b int64) int64 {
	b = max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
