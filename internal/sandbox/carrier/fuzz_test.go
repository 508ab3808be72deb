package carrier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"
)

// said is a connection over which the other end says what it likes.
type said struct {
	io.Reader
	io.Writer
}

func (said) Close() error { return nil }

// Whatever comes, what is taken are the bytes of whole frames' data in order, and no more is
// forgotten than was sent.
func FuzzFrames(f *testing.F) {
	frame := func(kind byte, body []byte) []byte { return append(appendHead(nil, kind, len(body)), body...) }
	f.Add(frame(kindData, []byte("hello")), 0)
	f.Add(append(frame(kindHave, binary.BigEndian.AppendUint64(nil, 3)), frame(kindEnd, nil)...), 3)
	f.Add(frame(kindHave, binary.BigEndian.AppendUint64(nil, 1<<63)), 3)
	f.Add(appendHead(nil, kindData, maxData+1), 0)
	f.Add(appendHead(nil, kindData, 0), 0)
	f.Add(appendHead(nil, kindPart, 0), 0)
	f.Fuzz(func(t *testing.T, data []byte, sent int) {
		sent = min(max(sent, 0), 100)
		c := New(Near, secret, time.Hour)
		c.out.put(make([]byte, 100))
		k := newConn(said{bytes.NewReader(data), io.Discard})
		c.conn, c.sent = k, sent
		got, err := io.ReadAll(c)
		if err == nil && !bytes.Contains(data, appendHead(nil, kindEnd, 0)) {
			t.Errorf("it ended well without an end")
		}
		if len(got) > len(data) || c.out.len < 100-sent || uint64(len(got)) != c.got {
			t.Errorf("%d bytes of %d came, %d are kept of 100 with %d sent", len(got), len(data), c.out.len, sent)
		}
	})
}

// Nobody comes in by saying anything without the secret.
func FuzzStranger(f *testing.F) {
	f.Add(append(append([]byte(magic), byte(GoOn)), make([]byte, nonceSize+8+macSize)...))
	f.Add(append(append([]byte(magic), byte(Leave)), make([]byte, nonceSize+8+macSize)...))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := New(Far, secret, time.Hour)
		if _, err := c.Accept(said{bytes.NewReader(data), io.Discard}); err == nil || !c.Cut() {
			t.Error("a stranger came in")
		}
		n := New(Near, secret, time.Hour)
		if err := n.Join(said{bytes.NewReader(data), io.Discard}); err == nil || !n.Cut() || errors.Is(err, ErrLost) {
			t.Errorf("a strange far end was taken: %v", err)
		}
	})
}
