package supervisor

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

func TestStreams(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "in")
	if err := os.WriteFile(name, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	s, err := OpenStreams([3]*os.File{in, out, pw})
	if err != nil {
		t.Fatal(err)
	}
	if s.files[0] == in || s.files[1] == out || s.files[2] == pw {
		t.Error("what the launcher has goes inside, where /proc/self/fd would open it again")
	}
	got, err := io.ReadAll(s.files[0])
	if err != nil || string(got) != "from a file" {
		t.Errorf("inside reads %q, %v", got, err)
	}
	if _, err := s.files[1].WriteString("from inside"); err != nil {
		t.Fatal(err)
	}
	s.CloseInside()
	if err := s.Drain(nil); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(out.Name()); err != nil || string(b) != "from inside" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

func TestStreamsRefuseDirectory(t *testing.T) {
	d, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := OpenStreams([3]*os.File{d, null, null}); err == nil {
		t.Error("a directory as standard input was taken")
	}
}

// TestDrainDoesNotWait: somebody else still holds the agent's end, and what was
// written before the end arrives all the same.
func TestDrainDoesNotWait(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStreams([3]*os.File{null, out, null})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.files[1].WriteString("in time"); err != nil {
		t.Fatal(err)
	}
	if err := s.Drain(nil); err != nil { // s.files[1] is still open
		t.Error(err)
	}
	if b, err := os.ReadFile(out.Name()); err != nil || string(b) != "in time" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	s.CloseInside()
}

func TestLostOutputIsTold(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStreams([3]*os.File{null, full, null})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.files[1].WriteString("x"); err != nil {
		t.Fatal(err)
	}
	s.CloseInside()
	if err := s.Drain(nil); err == nil {
		t.Error("output was lost and nobody was told")
	}
}

// TestStreamsUnread: a reader that takes nothing is waited for until somebody wants the
// session to end, and then no more.
func TestStreamsUnread(t *testing.T) {
	r, w, err := os.Pipe() // nobody reads
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s, err := OpenStreams([3]*os.File{null, w, null})
	if err != nil {
		t.Fatal(err)
	}
	inside := s.Inside()[1]
	wait.Eventually(t, "both pipes are full", func() bool {
		inside.SetWriteDeadline(time.Now().Add(time.Millisecond))
		n, _ := inside.Write(make([]byte, 1<<16))
		room, _ := unix.Poll([]unix.PollFd{{Fd: int32(w.Fd()), Events: unix.POLLOUT}}, 0)
		return n == 0 && room == 0
	})
	s.CloseInside()
	told := make(chan struct{})
	close(told)
	if err := s.Drain(told); !errors.Is(err, errUnread) {
		t.Errorf("drained: %v", err)
	}
}
