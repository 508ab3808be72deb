package cgroup

import (
	"bytes"
	"testing"
)

func TestMessageRoundTrip(t *testing.T) {
	m := message{kind: kindCall, serial: 3, path: "/a", iface: "a.b", member: "C", dest: "d.e", signature: "s", body: []byte("\x01\x00\x00\x00x\x00")}
	got, err := decodeMessage(m.encode())
	if err != nil {
		t.Fatal(err)
	}
	if got.path != m.path || got.iface != m.iface || got.member != m.member || got.dest != m.dest || !bytes.Equal(got.body, m.body) {
		t.Errorf("got %+v", got)
	}
}

// FuzzMessage feeds the bytes of a hostile peer to the reader of answers.
func FuzzMessage(f *testing.F) {
	var job encoder
	job.uint32(5)
	job.string("/j")
	job.string("u.scope")
	job.string("done")
	f.Add(message{kind: kindReturn, serial: 1, replyTo: 1, signature: "o", body: []byte("\x01\x00\x00\x00/\x00")}.encode())
	f.Add(message{kind: kindError, serial: 2, replyTo: 1, errorName: "a.b"}.encode())
	f.Add(message{kind: kindSignal, serial: 3, iface: systemdIface, member: "JobRemoved", signature: "uoss", body: job}.encode())
	f.Add(withSender(message{kind: kindSignal, serial: 3, member: "X"}, ":1.5"))
	f.Add([]byte("B\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x08\x05\x01u\x00\x00\x00\x00\x01"))
	f.Add([]byte("l\x02\x00\x01\xff\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMessage(b)
		if err != nil {
			return
		}
		jobRemoved(m)
		if len(b) > maxMessage {
			t.Fatalf("a message of %d bytes was read", len(b))
		}
		again, err := decodeMessage(m.encode())
		if err != nil {
			t.Fatalf("what was read cannot be written: %+v: %v", m, err)
		}
		if again.replyTo != m.replyTo || again.member != m.member || again.errorName != m.errorName ||
			again.signature != m.signature || !bytes.Equal(again.body, m.body) {
			t.Fatalf("read %+v, wrote and read %+v", m, again)
		}
	})
}
