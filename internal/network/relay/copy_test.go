package relay

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

// copiedPair starts a pair that no engine relays.
func copiedPair(t *testing.T, o Options) *link {
	t.Helper()
	k := &link{ended: make(chan struct{})}
	var c, s Conn
	k.client, c = dialled(t)
	s, k.origin = dialled(t)
	go func() {
		defer close(k.ended)
		k.counts, k.err = Copy(c, s, o)
	}()
	return k
}

// TestCopyEnds: bytes and then the end of each direction are carried over, and counted.
func TestCopyEnds(t *testing.T) {
	k := copiedPair(t, Options{First: []byte("first "), Idle: time.Hour})
	write(t, k.client, "there")
	k.client.CloseWrite()
	read(t, k.origin, "first there")
	readEnd(t, k.origin)
	big := bytes.Repeat([]byte("and back "), 100_000)
	go func() { k.origin.Write(big); k.origin.CloseWrite() }()
	if b, err := io.ReadAll(k.client); !bytes.Equal(b, big) || err != nil {
		t.Fatalf("%d bytes came back, %v", len(b), err)
	}
	k.wait(t)
	if k.err != nil || k.counts != (Counts{Sent: 11, Received: int64(len(big))}) {
		t.Errorf("%+v, %v", k.counts, k.err)
	}
}

// TestCopyCut: a reset of one side, what an inspector refuses, and a silence each reset
// both sides.
func TestCopyCut(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		o    Options
		do   func(k *link)
		want error
	}{
		"reset by the client": {Options{}, func(k *link) { k.client.SetLinger(0); k.client.Close() }, nil},
		"reset by the origin": {Options{}, func(k *link) { k.origin.SetLinger(0); k.origin.Close() }, nil},
		"inspected":           {Options{Inspect: func(b []byte) error { return refused }}, func(k *link) { k.client.Write([]byte("no")) }, refused},
		"inspected first":     {Options{First: []byte("no"), Inspect: func(b []byte) error { return refused }}, func(*link) {}, refused},
		"silent":              {Options{Idle: time.Millisecond}, func(*link) {}, ErrIdle},
	} {
		k := copiedPair(t, c.o)
		c.do(k)
		k.wait(t)
		if k.err == nil || c.want != nil && !errors.Is(k.err, c.want) || k.counts != (Counts{}) {
			t.Errorf("%s: %v, %+v", name, k.err, k.counts)
		}
		for _, end := range []io.Reader{k.client, k.origin} {
			if b, err := io.ReadAll(end); len(b) > 0 || err == nil {
				t.Errorf("%s: an end reads %q, %v", name, b, err)
			}
		}
	}
}
