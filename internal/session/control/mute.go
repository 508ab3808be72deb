package control

import (
	"net"
	"slices"
	"sync"
	"time"
)

// mute are the connections on which nothing was asked yet, the oldest first. They have a
// bounded number of places, and who says nothing must not keep others out.
type mute struct {
	mu   sync.Mutex
	list []silent
}

type silent struct {
	conn  *net.UnixConn
	since time.Time
}

// grace is how long one may be silent that is in somebody's way: long for who is only slow,
// and asks at once.
const grace = time.Second

func (m *mute) add(c *net.UnixConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, silent{c, time.Now()})
}

func (m *mute) remove(c *net.UnixConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(s silent) bool { return s.conn == c })
}

// makeRoom takes a place. Where all are taken, the oldest loses its own.
func (m *mute) makeRoom(places chan<- struct{}) {
	for {
		wait := grace
		m.mu.Lock()
		if len(m.list) > 0 {
			wait = max(0, grace-time.Since(m.list[0].since))
		}
		m.mu.Unlock()
		late := time.NewTimer(wait)
		select {
		case places <- struct{}{}:
			late.Stop()
			return
		case <-late.C:
			m.dismissOldest()
		}
	}
}

// dismissOldest ends the wait for one that had its time.
func (m *mute) dismissOldest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.list) == 0 || time.Since(m.list[0].since) < grace {
		return
	}
	m.list[0].conn.SetDeadline(time.Unix(1, 0))
	m.list[0].since = time.Now() // it goes by itself; until then nobody else has to
}
