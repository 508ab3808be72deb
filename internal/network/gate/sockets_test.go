package gate

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSockets(t *testing.T) {
	var s sockets
	l := listenLocal(t, "127.0.0.1:0")
	s.listen(l)
	held, heldPeer := tcpPair(t)
	released, _ := tcpPair(t)
	if !s.hold(held) || !s.hold(released) {
		t.Fatal("it takes no connection")
	}
	s.release(released)
	if _, err := released.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("what was released is open: %v", err)
	}
	s.close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it still listens: %v", err)
	}
	if _, err := heldPeer.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("what was held is not reset: %v", err)
	}
	// What comes too late is closed at once.
	late, _ := tcpPair(t)
	if s.hold(late) {
		t.Error("a closed set holds a connection")
	}
	lateListener := listenLocal(t, "127.0.0.1:0")
	s.listen(lateListener)
	for what, err := range map[string]error{"connection": late.Close(), "listener": lateListener.Close()} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("a late %s is open", what)
		}
	}
}
