package inside

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// ends are both ends of a connection as the one who made it has them.
type ends struct{ from, to netip.AddrPort }

// owners finds who on the sentry made a connection, for the supervisor's record.
type owners struct {
	mu     sync.Mutex
	search sys.Search

	ledMu sync.Mutex
	led   map[netip.AddrPort]ends // what lead carries, by its own end towards the gate
}

var made = owners{led: map[netip.AddrPort]ends{}}

// carried notes for whom lead has made a connection to the gate, until forget is called.
func (o *owners) carried(c, out *net.TCPConn) (forget func()) {
	own := addrPort(out.LocalAddr())
	o.ledMu.Lock()
	defer o.ledMu.Unlock()
	o.led[own] = ends{addrPort(c.RemoteAddr()), addrPort(c.LocalAddr())}
	return func() {
		o.ledMu.Lock()
		defer o.ledMu.Unlock()
		delete(o.led, own)
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	t, _ := a.(*net.TCPAddr)
	return netip.AddrPortFrom(t.AddrPort().Addr().Unmap(), t.AddrPort().Port())
}

// answer says who made a connection.
func (o *owners) answer(conn *wire.Conn, m wire.Message) {
	a := wire.Message{Kind: wire.Owner, ID: m.ID, Made: &wire.Made{}}
	if m.Made != nil {
		a.Made.PID, a.Made.Name = o.find(ends{m.Made.From, m.Made.To})
	}
	conn.Send(a)
}

func (o *owners) find(e ends) (int, []byte) {
	o.ledMu.Lock()
	if by, ok := o.led[e.from]; ok {
		e = by
	}
	o.ledMu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	inode := sys.SocketInode("/proc/net", e.from, e.to)
	if inode == 0 {
		return 0, nil
	}
	pid := o.search.Holder(inode, others)
	if pid == 0 {
		return 0, nil
	}
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return 0, nil
	}
	return pid, []byte(strings.TrimSuffix(string(name), "\n"))
}

// others are all processes but this one, the youngest first: whoever connects is young.
func others(time.Time) []int {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}
