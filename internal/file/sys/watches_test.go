package sys

import (
	"io"
	"os"
	"testing"
	"time"
)

// TestLeave: what was left to the kernel is open until it is closed here, and then closed by
// the kernel, with no process that has it.
func TestLeave(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	leave(w)
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.SetReadDeadline(time.Now().Add(30 * time.Second))
	if b, err := io.ReadAll(r); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v", b, err)
	}
}
