package sessions

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// TestExecEndsWithItsTerminal: a command whose person is gone is ended, also one that
// does not want to hear of it.
func TestExecEndsWithItsTerminal(t *testing.T) {
	w := newWorld(t)
	id := w.must("run", "--net", "none", "-d", "--", "sleep", "1000")
	inside := func() string { return w.must("exec", id, "--", "ps", "ax") }
	const deaf = `trap "" HUP TERM INT; echo begun; sleep 77.7`
	p := w.sit("exec", id, "--", "sh", "-c", deaf)
	p.sees("begun")
	p.pty.Close()
	p.leaves()
	wait.Eventually(w.t, "the end of what ran there", func() bool { return !strings.Contains(inside(), "sleep 77.7") })
}

// TestExecUnread: who does not read what a command prints delays neither the end of the
// session nor that of exec.
func TestExecUnread(t *testing.T) {
	w := newWorld(t)
	id := w.must("run", "--net", "none", "-d", "--", "sleep", "1000")
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := w.command("exec", id, "--", "yes")
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	w.full(r)
	w.must("stop", "--time", "0", id)
	cmd.Wait() // the world kills it after a while
	if status := cmd.ProcessState.ExitCode(); status != 137 {
		t.Errorf("the session ended beneath it: status %d", status)
	}
}

// full waits until a pipe takes no more.
func (w *world) full(r *os.File) {
	w.t.Helper()
	size, err := unix.FcntlInt(r.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	wait.Eventually(w.t, "a full pipe", func() bool {
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		return err == nil && n == size
	})
}
