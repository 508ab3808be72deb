package link

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// simulation is two honest ends and the bytes between them, moved by hand: every order in
// which frames can cross is one that a seed may choose.
type simulation struct {
	t       *testing.T
	rand    *rand.Rand
	ends    [2]*Link
	flight  [2][]byte // what left an end and has not arrived
	streams [2][]*tracked
	opened  int
}

// tracked is a stream at one end, with what it has sent and received so far.
type tracked struct {
	*Stream
	sent, got []byte
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	m := &simulation{t: t, rand: rand.New(rand.NewPCG(seed, 7))}
	m.ends = [2]*Link{still(Near), still(Far)}
	return m
}

// move lets some bytes arrive at the other end of e.
func (m *simulation) move(e int) {
	l := m.ends[e]
	l.mu.Lock()
	m.flight[e] = append(m.flight[e], l.out...)
	l.out = l.out[:0]
	l.fill()
	l.mu.Unlock()
	n := len(m.flight[e])
	if m.rand.IntN(3) > 0 {
		n = m.rand.IntN(n + 1)
	}
	used, err := m.ends[1-e].feed(m.flight[e][:n])
	if err != nil {
		m.t.Fatalf("the %v refused what an honest end sent: %v", m.ends[1-e].role, err)
	}
	m.flight[e] = m.flight[e][used:]
}

// step does one thing at one end.
func (m *simulation) step() {
	e := m.rand.IntN(2)
	l := m.ends[e]
	switch m.rand.IntN(12) {
	case 0:
		h := []Header{Dial{Port: 80}, Control{}, Overlay{Layer: 1}}[m.rand.IntN(3)]
		if l.role == Far {
			h = web
		}
		if s, err := l.Open(h); err == nil {
			m.opened++
			m.streams[e] = append(m.streams[e], &tracked{Stream: s})
		} else if !errors.Is(err, ErrTooMany) {
			m.t.Fatal(err)
		}
	case 1, 2:
		if l.accepts.Len() > 0 {
			s := accept(m.t, l)
			m.streams[e] = append(m.streams[e], &tracked{Stream: s})
		}
	case 3:
		if l.role == Near && !l.asked {
			l.ping, l.asked = true, true
			l.kick()
		}
	case 4, 5:
		m.move(e)
	default:
		if all := m.streams[e]; len(all) > 0 {
			m.use(e, all[len(all)-1-m.rand.IntN(min(20, len(all)))])
		}
	}
	for _, l := range m.ends {
		if l.err != nil {
			m.t.Fatal(l.err)
		}
	}
}

// use does one thing to a stream, and never waits.
func (m *simulation) use(e int, s *tracked) {
	switch n := m.rand.IntN(20); {
	case n < 9:
		m.write(e, s)
	case n < 17:
		p := make([]byte, MaxMessage)
		if s.in.size > 0 && s.readErr == nil {
			k, err := s.Read(p)
			if err != nil {
				m.t.Fatal(err)
			}
			s.got = append(s.got, p[:k]...)
		}
	case n == 17:
		s.CloseWrite()
	case n == 18:
		s.Close()
	default:
		s.Reset(Refused)
	}
}

func (m *simulation) write(e int, s *tracked) {
	if s.writeErr != nil || !s.data[m.ends[e].role] {
		return
	}
	p := fill(uint64(m.rand.Uint32()), 1+m.rand.IntN(min(3000, max(1, s.credit-2))))
	if s.cost(len(p)) > s.credit || s.link.waiting() {
		return // it would wait
	}
	if cap(s.link.out)-len(s.link.out) < 2*room {
		return
	}
	n, err := s.Write(p)
	if err != nil || n != len(p) {
		m.t.Fatal(n, err)
	}
	s.sent = append(s.sent, p...)
}

// TestHonestEndsNeverBreakALink: whatever two honest ends do, and however their frames
// cross, none of them takes the other for a forger, and no stream has bytes of another.
func TestHonestEndsNeverBreakALink(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newSimulation(t, seed)
			for range 4000 {
				m.step()
			}
			for _, side := range m.streams {
				for _, s := range side {
					s.Close()
				}
			}
			for range 40 {
				m.drain()
			}
			for e, l := range m.ends {
				if len(l.streams) != 0 || l.live != [3]int{} || l.refused != 0 || l.growth != Growth {
					t.Errorf("the %v still has %v streams of %d, growth %d", l.role, l.live, m.opened, l.growth)
				}
				sent := map[uint32][]byte{}
				for _, s := range m.streams[1-e] {
					sent[s.id] = s.sent
				}
				for _, s := range m.streams[e] {
					if !bytes.HasPrefix(sent[s.id], s.got) {
						t.Errorf("stream %d has other bytes than were sent", s.id)
					}
				}
			}
		})
	}
}

// drain lets everything arrive and closes what nobody had accepted yet.
func (m *simulation) drain() {
	for e, l := range m.ends {
		m.move(e)
		for l.accepts.Len() > 0 {
			accept(m.t, l).Close()
		}
	}
}
