package overlay

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/test/tier"
)

// TestMain plays the part of a process that is killed while it applies.
func TestMain(m *testing.M) {
	toDisk = func(int) error { return nil }
	dir := os.Getenv("LAYER_TEST_DIR")
	if dir == "" {
		tier.Checks(40, 100)
		os.Exit(m.Run())
	}
	steps, die := 0, -1
	fmt.Sscan(os.Getenv("LAYER_TEST_DIE"), &die)
	beforeWrite = func() {
		if os.Stdout.Write([]byte(".")); steps == die {
			unix.Kill(unix.Getpid(), unix.SIGKILL)
			select {}
		}
		steps++
	}
	l := crashLayer(dir)
	if _, err := l.Apply(dir+"/log", nil, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// crashLayer is the layer of a world in which the session began in 2100: only the
// file that was changed on the host "later" has a later time.
func crashLayer(dir string) *Layer {
	return &Layer{Root: dir + "/root", Upper: dir + "/upper", Since: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		Base: func(rel string) ([]byte, bool) {
			b, err := os.ReadFile(filepath.Join(dir, "base", rel))
			return b, err == nil
		}}
}

// crashWorld makes one change of every kind, and a text that has to be merged.
func crashWorld(t *testing.T) (dir string, after map[string]change.Node) {
	dir = tempDir(t)
	w := newWorld(t, dir, tree1+`
		printf '1\n2\n3\n4\n5\n' >text; mkdir locked asfile; printf x >locked/x; printf y >asfile/y; printf d >asdir; chmod 555 locked`)
	view := w.session(`
		printf more >>src/one; printf new >added; rm -rf old; mkdir -p old/sub; printf other >old/sub/other
		mkdir d; mv keep d/kept; chmod 700 run; ln -sf nowhere link; rm -r empty; printf def >.git/refs/heads/main
		mkdir .git/objects/ab; printf obj >.git/objects/ab/cd; printf 'ref: x' >.git/HEAD
		printf '1\n2\n3\n4\nfive\n' >text; printf z >locked/z; rm locked/x
		rm -r asfile; printf f >asfile; rm asdir; mkdir asdir; printf in >asdir/in; mkdir ro; printf r >ro/r; chmod 555 ro`)
	w.sh(`mkdir base; cp root/text base/text; printf 'one\n2\n3\n4\n5\n' >root/text; touch -d 2101-01-01 root/text`)
	merged := filepath.Join(dir, "merged")
	if err := os.WriteFile(merged, []byte("one\n2\n3\n4\nfive\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	view["text"] = snapshot(t, dir)["merged"]
	return dir, view
}

func child(t *testing.T, dir string, die int) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "LAYER_TEST_DIR="+dir, fmt.Sprint("LAYER_TEST_DIE=", die))
	cmd.Stderr = os.Stderr
	return cmd
}

// copyWorld makes a world that may be destroyed. What is left of it goes with the other.
func copyWorld(t *testing.T, from string) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(from), "copy")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from+"/root", from+"/upper", from+"/base", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// halfway checks that every file is as it was before or as it is after.
func halfway(t *testing.T, step int, root string, before, after map[string]change.Node) {
	t.Helper()
	now := snapshot(t, root)
	for p, n := range now {
		if isTemp(filepath.Base(p)) || strings.Contains(p, tempPrefix) || n.Type == change.Directory && (before[p].Type == n.Type || after[p].Type == n.Type) {
			continue
		}
		if n != before[p] && n != after[p] {
			t.Errorf("step %d: %q is %v, neither before nor after", step, p, n)
		}
	}
	for p := range before {
		if _, ok := now[p]; !ok && after[p] == before[p] {
			t.Errorf("step %d: %q is gone", step, p)
		}
	}
	for p, n := range after {
		if _, ok := now[p]; !ok && before[p] == n {
			t.Errorf("step %d: %q is gone", step, p)
		} else if _, was := before[p]; !ok && was {
			t.Errorf("step %d: %q is neither there before nor after", step, p)
		}
	}
}

// again finishes what a killed process began.
func again(t *testing.T, step int, dir string, after map[string]change.Node) {
	t.Helper()
	l := crashLayer(dir)
	w := &world{t: t, dir: dir, log: dir + "/log", Layer: l}
	for _, r := range w.apply(nil, nil) {
		if r.Outcome == Conflict {
			t.Errorf("step %d, run again: %q: %s", step, r.Path, r.Why)
		}
	}
	if diff := cmp.Diff(after, snapshot(t, l.Root)); diff != "" {
		t.Errorf("step %d, run again (-want +got):\n%s", step, diff)
	}
	w.emptied()
}

// TestKilledAtEveryStep kills the process before each of its writes.
func TestKilledAtEveryStep(t *testing.T) {
	world, after := crashWorld(t)
	before := snapshot(t, world+"/root")
	for step := range 1000 {
		dir := copyWorld(t, world)
		err := child(t, dir, step).Run()
		if err == nil {
			t.Logf("%d steps", step)
			if diff := cmp.Diff(after, snapshot(t, dir+"/root")); diff != "" {
				t.Errorf("not killed at all (-want +got):\n%s", diff)
			}
			return
		}
		if !strings.Contains(err.Error(), "killed") {
			t.Fatal(err)
		}
		halfway(t, step, dir+"/root", before, after)
		if step%7 == 0 { // dies once more, at another place
			child(t, dir, step/2).Run()
			halfway(t, step, dir+"/root", before, after)
		}
		if again(t, step, dir, after); t.Failed() {
			return
		}
		removeAll(dir)
	}
	t.Error("it never ends")
}

// TestKilled kills the process from outside, wherever it is.
func TestKilled(t *testing.T) {
	world, after := crashWorld(t)
	before := snapshot(t, world+"/root")
	for range 10 {
		dir := copyWorld(t, world)
		cmd := child(t, dir, -1)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		step := rand.IntN(150)
		io.CopyN(io.Discard, out, int64(step))
		cmd.Process.Kill()
		io.Copy(io.Discard, out)
		cmd.Wait()
		halfway(t, step, dir+"/root", before, after)
		again(t, step, dir, after)
	}
}
