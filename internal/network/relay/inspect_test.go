package relay

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// Whoever inspects sees every byte before the origin does, bulk too, and can end it.
func TestInspect(t *testing.T) {
	const first, then = 100, 3 << 20
	for _, stopAt := range []int{0, 1, first + 1, 2 << 20} {
		var seen bytes.Buffer
		caught := errors.New("caught")
		k := relayed(t, newEngine(t), Options{First: bytes.Repeat([]byte("f"), first), Inspect: func(b []byte) error {
			seen.Write(b)
			if stopAt > 0 && seen.Len() >= stopAt {
				return caught
			}
			return nil
		}})
		go func() {
			k.client.Write(bytes.Repeat([]byte("t"), then))
			k.client.CloseWrite()
		}()
		got, err := io.ReadAll(k.origin)
		if stopAt == 0 {
			k.origin.Close()
		}
		k.wait(t)
		switch {
		case stopAt == 0 && (k.err != nil || err != nil || !bytes.Equal(got, seen.Bytes()) || len(got) != first+then):
			t.Errorf("ended with %v, origin read %d bytes, %v; %d were seen", k.err, len(got), err, seen.Len())
		case stopAt > 0 && (k.err != caught || err == nil || len(got) >= stopAt):
			t.Errorf("stop at %d: ended with %v, origin read %d bytes, %v", stopAt, k.err, len(got), err)
		}
	}
}
