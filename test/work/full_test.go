package work

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/stage"
)

// heardSoFar is what a program says, while it says it.
type heardSoFar struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heardSoFar) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *heardSoFar) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(h.text.String(), text)
}

// TestDiskFullAtTheEnd: the disk of this machine is full when the agent at the far end is done.
// The person hears it, makes room, and has all of the work; or says stop twice.
func TestDiskFullAtTheEnd(t *testing.T) {
	t.Run("room", func(t *testing.T) {
		f, cmd, said, id := crammed(t)
		if err := os.Remove(filepath.Join(f.State, "ballast")); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if s := cmd.ProcessState.ExitCode(); s != 7 || said.has("lost") {
			t.Errorf("status %d\n%s", s, said.text.String())
		}
		if out, err := f.Cmd("apply", "--yes", id).CombinedOutput(); err != nil {
			t.Errorf("apply: %v\n%s", err, out)
		}
		if st, err := os.Stat(filepath.Join(f.Dir, "made")); err != nil || st.Size() != 30000 {
			t.Errorf("%v, %v", st, err)
		}
	})
	t.Run("stop", func(t *testing.T) {
		f, cmd, said, id := crammed(t)
		for range 2 { // whichever comes first waits, and the other one ends it
			if err := f.Cmd("stop", "--time", "0s", id).Start(); err != nil {
				t.Fatal(err)
			}
		}
		cmd.Wait()
		if s := cmd.ProcessState.ExitCode(); s == 0 || s == 7 || !said.has("lost") {
			t.Errorf("status %d\n%s", s, said.text.String())
		}
	})
}

// crammed is a session whose agent has ended, and whose work has no room here.
func crammed(t *testing.T) (*Fixture, *exec.Cmd, *heardSoFar, string) {
	t.Helper()
	f := overALink(t)
	state, err := os.MkdirTemp(stage.Small, "state-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	f.State = state
	f.Policy("")
	cmd := f.Cmd("run", "--rung", f.Rung, "--review", "--net", "none", "--", "sh", "-c", "until test -e on; do sleep 0.05; done; head -c 30000 /dev/zero > made; exit 7")
	said := &heardSoFar{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the session", func() bool { return len(f.PS()) == 1 })
	id := f.PS()[0].Session
	f.Eventually("the agent", func() bool { return f.Cmd("exec", id, "--", "true").Run() == nil })
	cram(t, state, 60<<10)
	if out, err := f.Cmd("exec", id, "--", "touch", "on").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f.Eventually("a word of the full disk", func() bool { return said.has("Make room there") })
	return f, cmd, said, id
}

// cram fills a disk but for some of it.
func cram(t *testing.T, dir string, leave int64) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	n := int64(st.Bavail)*st.Bsize - leave
	if n <= 0 {
		t.Fatalf("only %d bytes are free", int64(st.Bavail)*st.Bsize)
	}
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, n), 0o600); err != nil {
		t.Fatal(err)
	}
}
