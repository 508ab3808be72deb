package far

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/test/wait"
)

// soil is ground of which the test says how much is free. 100 stay so.
type soil struct {
	free   atomic.Int64
	stands chan bool // what it was told to
}

func (*soil) Where() string        { return "/state/here" }
func (s *soil) Room() (_, _ int64) { return s.free.Load(), 100 }
func (s *soil) Freeze() error      { s.stands <- true; return nil }
func (s *soil) Thaw() error        { s.stands <- false; return nil }
func (s *soil) wants(t *testing.T, still bool) {
	t.Helper()
	if <-s.stands != still {
		t.Errorf("it stands still: %v", !still)
	}
}

// grown is a session on ground with room, and what its person is told.
func grown(t *testing.T, disk *os.File) (box *sandbox, on *soil, here, there string, told chan string) {
	t.Helper()
	on = &soil{stands: make(chan bool, 8)}
	on.free.Store(1000)
	told = make(chan string, 8)
	p, here := reviewed(t)
	box, there = layeredOn(t, p, on, disk, asItIs())
	box.hooks.Warn = func(text string) { told <- text }
	return box, on, here, there, told
}

// TestNoRoomWhileItRuns: a machine whose disk lies here stands still before this one is full, and
// goes on when there is room; never against who froze it meanwhile.
func TestNoRoomWhileItRuns(t *testing.T) {
	disk := opened(t, t.TempDir())
	box, on, here, there, told := grown(t, disk)
	write(t, there, "made", "work")
	on.free.Store(99)
	on.wants(t, true)
	if text := <-told; !strings.Contains(text, "/state/here") || !strings.Contains(text, "stands still") {
		t.Errorf("the person hears %q", text)
	}
	if err := box.Sync(); !errors.Is(err, errCramped) || !box.Broken() {
		t.Errorf("somebody asks for what changed: %v", err)
	}
	if err := box.Freeze(); err != nil { // nobody there could be asked
		t.Errorf("freeze: %v", err)
	}
	on.free.Store(1000)
	if box.goOn() {
		t.Error("room lets go on what was frozen")
	}
	if err := box.Thaw(); err != nil {
		t.Errorf("thaw: %v", err)
	}
	on.wants(t, false)
	wait.Eventually(t, "it goes on", func() bool { return !box.Broken() })
	if err := box.Sync(); err != nil || read(here, "made") != "work" {
		t.Errorf("%v, %q", err, read(here, "made"))
	}
	on.free.Store(99)
	on.wants(t, true)
	<-told
	closed := make(chan error)
	go func() { closed <- box.Close() }() // the first stop
	on.free.Store(1000)
	on.wants(t, false)
	<-closed
	if _, err := box.Wait(); err != nil {
		t.Errorf("ended when there was room: %v", err)
	}
}

// TestNoRoomCut: who does not wait for room says stop twice.
func TestNoRoomCut(t *testing.T) {
	box, on, _, _, told := grown(t, opened(t, t.TempDir()))
	on.free.Store(0)
	<-told
	go box.Close()
	box.Cut()
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("%v", err)
	}
}

// TestNotWhole: bytes that a far end's disk lost are told of, and the rest comes.
func TestNotWhole(t *testing.T) {
	disk := opened(t, t.TempDir())
	disk.Close() // every call fails
	box, _, here, there, _ := grown(t, disk)
	write(t, there, "made", "work")
	if err := link.Send(box.control, link.Message{Kind: link.End}); err != nil {
		t.Fatal(err)
	}
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "may not be whole") {
		t.Errorf("%v", err)
	}
	if read(here, "made") != "work" {
		t.Errorf("%q", read(here, "made"))
	}
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
