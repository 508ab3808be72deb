package netfaults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// onSmallDisk is the state on a disk that is soon full.
var onSmallDisk = []string{"XDG_STATE_HOME=" + stage.Small}

const ballast = stage.Small + "/ballast"

// fill leaves no byte free.
func fill(t *testing.T) {
	t.Helper()
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 4096; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
}

func empty(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(stage.Small)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(stage.Small, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// refusals are what is tried while nothing can be recorded, and the word that the
// client hears where it can hear one.
var refusals = []struct {
	name string
	o    order.Order
	want string
}{
	{"http", order.Order{Do: "get", At: allowedWeb}, "journal"},
	{"absolute form", order.Order{Do: "raw", At: "127.0.0.1:808", Text: "GET " + allowedWeb + " HTTP/1.1\r\nHost: " + world.Allowed + "\r\n\r\n"}, "journal"},
	{"tls", order.Order{Do: "get", At: allowedTLS}, ""},
	{"raw", order.Order{Do: "open", At: world.Allowed + ":7", Text: "hello", Keep: "new"}, ""},
	{"a name that was not asked for yet", order.Order{Do: "look", At: "late.allowed.test"}, ""},
}

// TestFullJournal: the disk fills up while the session runs. What cannot be recorded
// does not happen and says why; when there is room again, it does.
func TestFullJournal(t *testing.T) {
	empty(t)
	w := world.New(t)
	s := hand.Launch{Env: onSmallDisk, Flags: []string{"--allow-host", world.Allowed, "--allow-host", world.Allowed + ":7", "--allow-host", "late.allowed.test", "--allow-host", "*.drain.test"}}.Start(t, w)
	t.Cleanup(func() { empty(t) })
	served(t, s, "before")
	if a := s.Do(order.Order{Do: "open", At: world.Allowed + ":7", Text: "hello", Keep: "old"}); a.Error != "" {
		t.Fatal(a.Error)
	}
	fill(t)
	// The last page of the journal has room for a while.
	n := 0
	for ; n < 200 && s.Do(order.Order{Do: "get", At: allowedWeb}).Status == 200; n++ {
	}
	for ; n < 400 && s.Do(order.Order{Do: "look", At: fmt.Sprintf("n%d.drain.test", n)}).Error == ""; n++ { // its record is shorter
	}
	t.Logf("%d requests more found room", n)
	w.Forget()
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) { isRefused(t, s.Do(c.o), c.want) })
	}
	for _, h := range w.Heard() {
		if h.Bytes > 0 {
			t.Errorf("the origin heard %q at %v:%d", h.First, h.Addr, h.Port)
		}
	}
	if a := s.Do(order.Order{Do: "ended", Keep: "old", For: 200 * time.Millisecond}); a.Text != "open" && a.Text != "ended" {
		t.Errorf("the open connection: %+v", a)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	served(t, s, "with room again")
	if a := s.Do(order.Order{Do: "look", At: "late.allowed.test"}); a.Error != "" {
		t.Errorf("with room again: %+v", a)
	}
	if status := s.Stop(); status != 0 || !strings.Contains(s.Screen(), "not complete") {
		t.Errorf("nobody tells the person: status %d, %q", status, s.Screen())
	}
	cmd := w.Command(t.Context(), "log", s.ID)
	cmd.Env = append(cmd.Env, onSmallDisk...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "gate closed") {
		t.Errorf("the journal afterwards: %v\n%s", err, out)
	}
	cmd = w.Command(t.Context(), "log", "verify", s.ID)
	cmd.Env = append(cmd.Env, onSmallDisk...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), s.ID+"  sound  ") {
		t.Errorf("the journal does not verify: %v\n%s", err, out)
	}
}

func isRefused(t *testing.T, a order.Answer, want string) {
	t.Helper()
	t.Logf("%+v", a)
	if a.Status == 200 || strings.Contains(a.Text, "origin ") || a.Error == "" && a.Status == 0 && want == "" {
		t.Errorf("it passes: %+v", a)
	}
	if !strings.Contains(a.Text, want) {
		t.Errorf("the client is not told why: %+v", a)
	}
	for _, never := range []string{"will not change", stage.Small, "/srv"} {
		if strings.Contains(a.Text, never) {
			t.Errorf("the client is told %q: %+v", never, a)
		}
	}
}

// TestFullBefore: with no room for the first record nothing starts.
func TestFullBefore(t *testing.T) {
	empty(t)
	w := world.New(t)
	t.Cleanup(func() { empty(t) })
	// The project's own state is made first, so that only the journal lacks room.
	warm := w.Command(t.Context(), "run", "--net", "none", "--", "true")
	warm.Env = append(warm.Env, onSmallDisk...)
	if out, err := warm.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fill(t)
	cmd := w.Command(t.Context(), "run", "--allow-host", world.Allowed, "--", "echo", "ran")
	cmd.Env = append(cmd.Env, onSmallDisk...)
	out, err := cmd.CombinedOutput()
	// What the session will change is recorded first, on the same disk.
	told := strings.Contains(string(out), "journal") || strings.Contains(string(out), "keep what the session changes")
	if err == nil || strings.Contains(string(out), "ran\n") || !told || !strings.Contains(string(out), "no space left") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
