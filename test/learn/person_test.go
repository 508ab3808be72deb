package learn

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// TestPersonIsAsked: at a terminal nothing is saved but by a yes.
func TestPersonIsAsked(t *testing.T) {
	rc := filepath.Join(stage.Home, ".personrc")
	if err := os.WriteFile(rc, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(rc) })
	for answer, saved := range map[string]bool{"y": true, "n": false, "": false} {
		w := world.New(t)
		ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
		defer cancel()
		cmd := w.Command(ctx, "learn", "--yes", "--", "cat", rc)
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		text := until(t, tty, "[y/N] ")
		if !strings.Contains(text, "for all projects?") || !strings.Contains(text, ".personrc") {
			t.Errorf("asked %q", text)
		}
		if _, err := tty.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		tty.Close()
		_, err = os.Stat(filepath.Join(w.State, "config/ringfence/policy.toml"))
		if (err == nil) != saved {
			t.Errorf("after %q: saved: %v", answer, err == nil)
		}
	}
}

// until reads from a terminal until a text has come.
func until(t *testing.T, tty *os.File, want string) string {
	t.Helper()
	var all bytes.Buffer
	b := make([]byte, 4096)
	for !strings.Contains(all.String(), want) {
		n, err := tty.Read(b)
		all.Write(b[:n])
		if err != nil {
			t.Fatalf("it ended before %q: %v: %s", want, err, &all)
		}
	}
	return all.String()
}
