package gate

import (
	"encoding/binary"
	"net/netip"
	"sync"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/sandbox/netns"
)

// pool gives each name an address of v4 and one of v6 that stand for it alone. An
// address is not given to another name before all others of the range were: who
// still holds it would reach a stranger.
type pool struct {
	mu    sync.Mutex
	names map[address.Name]uint32
	at    map[uint32]address.Name
	next  uint32
	live  []uint32 // in the order in which they were given
}

const (
	poolSize = 1 << 17 // addresses in 198.18.0.0/15
	poolLive = 1 << 14 // names that are remembered
)

func newPool() *pool {
	return &pool{names: map[address.Name]uint32{}, at: map[uint32]address.Name{}, next: 1}
}

// give returns the addresses of a name.
func (p *pool) give(n address.Name) (v4, v6 netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.names[n]
	if !ok {
		if len(p.live) == poolLive {
			old := p.live[0]
			p.live = p.live[1:]
			delete(p.names, p.at[old])
			delete(p.at, old)
		}
		i = p.next
		if p.next++; p.next == poolSize-1 {
			p.next = 1
		}
		p.names[n], p.at[i] = i, n
		p.live = append(p.live, i)
	}
	return poolAddr(i)
}

func poolAddr(i uint32) (v4, v6 netip.Addr) {
	a4, a6 := netns.Pool4.Addr().As4(), netns.Pool6.Addr().As16()
	binary.BigEndian.PutUint32(a4[:], binary.BigEndian.Uint32(a4[:])+i)
	binary.BigEndian.PutUint32(a6[12:], i)
	return netip.AddrFrom4(a4), netip.AddrFrom16(a6)
}

// name returns what an address stands for.
func (p *pool) name(a netip.Addr) (address.Name, bool) {
	var i uint32
	switch {
	case netns.Pool4.Contains(a):
		b, base := a.As4(), netns.Pool4.Addr().As4()
		i = binary.BigEndian.Uint32(b[:]) - binary.BigEndian.Uint32(base[:])
	case netns.Pool6.Contains(a):
		b := a.As16()
		if binary.BigEndian.Uint64(b[4:]) != 0 {
			return "", false
		}
		i = binary.BigEndian.Uint32(b[12:])
	default:
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.at[i]
	return n, ok
}

// target turns an address that stands for a name into the name.
func (p *pool) target(t address.Target) address.Target {
	if n, ok := p.name(t.Addr); t.Name == "" && ok {
		return address.Target{Name: n, Port: t.Port}
	}
	return t
}
