package sessions

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/test/wait"
)

// look tells what stands around a process, as it sees it itself.
const look = `grep -E '^(Cap|NoNewPrivs|Seccomp|Groups|[UG]id)' /proc/self/status
for n in /proc/self/ns/*; do readlink $n; done
cat /proc/self/cgroup /proc/self/limits /proc/self/loginuid 2>/dev/null
ls /proc/self/fd | tr '\n' ' '
env | grep -v -e '^_=' -e '^SHLVL=' | sort
touch /proc/self/attr/x 2>&1
unshare -U true 2>&1
mount -t tmpfs x /mnt 2>&1
cat /proc/keys 2>&1 | wc -l
echo end of look`

// TestExecWalls: what runs beside the agent stands behind the very same walls.
func TestExecWalls(t *testing.T) {
	w := newWorld(t)
	id := w.must("run", "--net", "locked", "-d", "--", "sh", "-c", look+"; exec sleep 1000")
	wait.Eventually(w.t, "the look", func() bool { return strings.Contains(w.must("output", id), "end of look") })
	agent, _, _ := strings.Cut(w.must("output", id), "end of look")
	beside, _, _ := strings.Cut(w.must("exec", id, "--", "sh", "-c", look), "end of look")
	for _, must := range []string{"Seccomp:\t2", "NoNewPrivs:\t1", "CapBnd:\t0000000000000000", "CapEff:\t0000000000000000", "0 1 2 3"} {
		if !strings.Contains(beside, must) {
			t.Errorf("%q is not there:\n%s", must, beside)
		}
	}
	if diff := cmp.Diff(strings.Split(agent, "\n"), strings.Split(beside, "\n")); diff != "" {
		t.Errorf("beside the agent it looks different (-agent +beside):\n%s", diff)
	}
	w.must("stop", id)
	w.must("rm", id)
}

// TestExecRecorded: who ran something in a session, and what, is in its journal.
func TestExecRecorded(t *testing.T) {
	w := newWorld(t)
	id := w.must("run", "--net", "none", "-d", "--", "sleep", "1000")
	w.must("exec", id, "--", "echo", "a secret word")
	w.must("stop", id)
	w.must("rm", id)
	out := w.must("log", id)
	if !strings.Contains(out, "exec echo") || strings.Contains(out, "a secret word") {
		t.Errorf("the journal says:\n%s", out)
	}
}

// TestExecStopped: an agent that stops whatever is born beside it, before it has begun,
// stops neither the session's first process nor the person's commands.
func TestExecStopped(t *testing.T) {
	w := newWorld(t)
	const stopper = `n=$(($$+1)); i=0; while [ $i -lt 30000000 ]; do kill -STOP $n 2>/dev/null && n=$((n+1)); i=$((i+1)); done`
	id := w.must("run", "--net", "none", "-d", "--", "sh", "-c", stopper)
	for range 3 { // stopped before it began, or afterwards: then the person gives up
		cmd := w.command("exec", id, "--", "echo", "hi")
		timer := time.AfterFunc(3*time.Second, func() { cmd.Process.Kill() })
		cmd.Run()
		timer.Stop()
	}
	if out := w.must("status", id, "--line"); !strings.HasPrefix(out, "fenced") {
		t.Error(out)
	}
	w.must("stop", "--time", "1s", id)
	w.must("rm", id)
}
