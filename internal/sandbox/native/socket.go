package native

import (
	"cmp"
	"errors"
	"os"
	"sync"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// asked is who waits for a socket from inside: nobody, or one.
type asked struct {
	one  sync.Mutex // at a time
	mu   sync.Mutex
	come chan *os.File // nil: nobody asked
}

// wait begins to wait.
func (a *asked) wait() <-chan *os.File {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.come = make(chan *os.File, 1)
	return a.come
}

// take passes a socket on to who waits for it. One that nobody asked for stays with the
// caller: whoever sends it must not stop those who listen.
func (a *asked) take(came []netns.Socket) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.come == nil || len(came) > 1 {
		return false
	}
	var f *os.File // nil: inside could make none
	if len(came) == 1 {
		f = came[0].File
	}
	a.come <- f
	a.come = nil
	return true
}

// socket asks inside for a socket of its network.
func (s *sandbox) socket(ipv6 bool) (*os.File, error) {
	s.asked.one.Lock()
	defer s.asked.one.Unlock()
	come := s.asked.wait()
	if err := cmp.Or(s.around, s.conn).Send(wire.Message{Kind: wire.Socket, IPv6: ipv6}); err != nil {
		return nil, err
	}
	select {
	case f := <-come:
		if f == nil {
			return nil, errors.New("no socket could be made inside")
		}
		return f, nil
	case <-s.exit:
		return nil, errors.New("the sandbox has ended")
	}
}
