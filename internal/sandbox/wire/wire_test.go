package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/wire"
)

func pair(t *testing.T) (near, far *wire.Conn) {
	t.Helper()
	near, f, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	far = wire.Inherited(fd)
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func TestDescriptorComesWithItsMessage(t *testing.T) {
	near, far := pair(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := far.Send(wire.Message{Kind: wire.Walls}); err != nil {
		t.Fatal(err)
	}
	if err := far.Send(wire.Message{Kind: wire.PTY}, int(w.Fd())); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if m, fds, err := near.Receive(); err != nil || m.Kind != wire.Walls || len(fds) != 0 {
		t.Fatalf("first: %v %d %v", m.Kind, fds, err)
	}
	m, fds, err := near.Receive()
	if err != nil || m.Kind != wire.PTY || len(fds) != 1 {
		t.Fatalf("second: %v %d %v", m.Kind, fds, err)
	}
	fd := fds[0]
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Error("a received descriptor survives exec")
	}
	got := os.NewFile(uintptr(fd), "w")
	if _, err := got.WriteString("x"); err != nil {
		t.Error(err)
	}
	got.Close()
}

func TestLargePlan(t *testing.T) {
	near, far := pair(t)
	body := bytes.Repeat([]byte("x"), 3<<20)
	sent := make(chan error, 1)
	go func() { sent <- near.SendPlan(body[:7], body[7:1<<20], nil, body[1<<20:]) }()
	got, err := far.ReceivePlan()
	if err != nil || !bytes.Equal(got, body) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestEndAndGarbage(t *testing.T) {
	near, far := pair(t)
	far.Shutdown()
	if _, _, err := near.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("a closed end gives %v", err)
	}
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range []string{"\xff\xff\xff\xff", "\x00\x00\x00\x00", "\x00\x00\x00\x02[]", "\x00\x00\x00\x09{\"x\":1}{}"} {
		c := wire.Inherited(p[0])
		if _, err := unix.Write(p[1], []byte(frame)); err != nil {
			t.Fatal(err)
		}
		if m, _, err := c.Receive(); err == nil {
			t.Errorf("%q was read as %v", frame, m)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"kind":"go"}`, `{"kind":"exit","status":256}`, `{"kind":"failed","failure":{"step":"user","text":"x","errno":1}}`,
		`{"kind":"walls","evidence":[{"probe":"caps","open":false,"detail":""}]}`, `{}`, `{"kind":"go"} x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.Decode(b)
		if err != nil {
			return
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.Decode(again); err != nil {
			t.Fatalf("%q decodes, %q does not: %v", b, again, err)
		}
	})
}

// TestAClaimAllocatesLittle: a peer that claims the longest message, and sends none of it.
func TestAClaimAllocatesLittle(t *testing.T) {
	near, far := rawPair(t)
	if _, err := unix.Write(far, []byte{byte(wire.MaxFrame >> 24), 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	unix.Shutdown(far, unix.SHUT_WR)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := near.Receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestAFloodOfDescriptors: a peer that sends a message byte by byte, each with descriptors.
// None of them stays open.
func TestAFloodOfDescriptors(t *testing.T) {
	near, far := rawPair(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := unix.Write(far, []byte{0, 0, 0, 200}); err != nil {
		t.Fatal(err)
	}
	many := make([]int, 100)
	for i := range many {
		many[i] = int(w.Fd())
	}
	for range 4 {
		if err := unix.Sendmsg(far, []byte("x"), unix.UnixRights(many...), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if _, _, err := near.Receive(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("400 descriptors of one message: %v", err)
	}
	near.Close()
	unix.Close(far)
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a descriptor is still open: %v", err)
	}
}

// rawPair is an end, and a socket of whoever speaks to it.
func rawPair(t *testing.T) (*wire.Conn, int) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Inherited(p[0]), p[1]
}
