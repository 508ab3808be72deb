package relay

import (
	"errors"
	"io"
	"testing"
)

// TestCut: who holds a pair can end it, and no other; also one that has not begun.
func TestCut(t *testing.T) {
	e := newEngine(t)
	var hold, other Hold
	cut, stays := relayed(t, e, Options{Hold: &hold}), relayed(t, e, Options{Hold: &other})
	for _, k := range []*link{cut, stays} {
		if _, err := k.client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(k.origin, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	hold.Cut()
	hold.Cut()
	cut.wait(t)
	if !errors.Is(cut.err, ErrCut) || !hold.Gone() || other.Gone() {
		t.Errorf("%v", cut.err)
	}
	if _, err := cut.origin.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the origin heard %v where a reset was due", err)
	}
	if _, err := stays.client.Write([]byte("y")); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(stays.origin, make([]byte, 1)); err != nil {
		t.Errorf("the other pair: %v", err)
	}
	late := relayed(t, e, Options{Hold: &hold, First: []byte("never")})
	late.wait(t)
	if !errors.Is(late.err, ErrCut) || late.counts.Sent != 0 {
		t.Errorf("%v, %d bytes", late.err, late.counts.Sent)
	}
}
