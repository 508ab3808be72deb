package ssh

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/wait"
)

// emptyThere says whether no session is on a machine.
func (w *user) emptyThere(host string) bool {
	out := w.do("/srv/bin/ssh", host, "ls -A .cache/ringfence/work .cache/ringfence/waiting | grep -e -").out
	return !strings.Contains(out, "-")
}

// A machine without room to seal what a session changed keeps it as it lies, and it is fetched.
func TestNoRoomToSeal(t *testing.T) {
	w := newWorld(t)
	w.keep("1s")
	s := w.begin("small", "roomless", `n=$(df -k . | awk 'NR==2{print int($4*0.7)}'); head -c ${n}k /dev/urandom >large; sha256sum <large; echo up; while :; do sleep 1; done`)
	s.Process.Kill()
	s.end(t)
	if r := w.ringfence("attach", "roomless"); r.status != 0 || !strings.Contains(r.errors, "was not sealed") {
		t.Fatalf("status %d", r.status)
	}
	if r := w.ringfence("apply", "--yes"); r.status != 0 {
		t.Errorf("apply: %d", r.status)
	}
	b, err := os.ReadFile(filepath.Join(w.project, "large"))
	sum := sha256.Sum256(b)
	if err != nil || len(b) < 1<<20 || !s.out.has(hex.EncodeToString(sum[:])) {
		t.Errorf("%d bytes came, %v", len(b), err)
	}
	if !w.emptyThere("small") {
		t.Error("it is still there")
	}
}

// What a far end that was killed had not brought over lies there: the person is told so, the
// next session there does not remove it, and it is fetched.
func TestFarEndKilled(t *testing.T) {
	w := newWorld(t)
	w.keep("1h")
	s := w.begin("relayed", "farkilled", `echo up; read x; echo of-an-hour >early; while :; do sleep 1; done`)
	open := w.shutWay()
	defer open()
	id := w.farEnd()
	s.stdin.Close()
	wait.Eventually(t, "it works", func() bool {
		return strings.Contains(w.asThere(`cat .cache/ringfence/work/*/layers/0/upper/early`).out, "of-an-hour")
	})
	w.asThere("kill -9 " + id)
	s.told(t, "is lost")
	open()
	if s.end(t) == 0 || !strings.Contains(s.errs.String(), "not sealed") || strings.Contains(s.errs.String(), "nothing of it is on") {
		t.Error("the person is not told what is there")
	}
	if r := w.on("box", "exit 6"); r.status != 6 { // it sweeps
		t.Errorf("status %d", r.status)
	}
	if r := w.ringfence("attach", "farkilled"); r.status != 0 || !strings.Contains(r.errors, "was not sealed") {
		t.Errorf("attach: %d", r.status)
	}
	if r := w.ringfence("diff", "farkilled"); !strings.Contains(r.out, "early") {
		t.Error("what it changed is not in the review")
	}
	w.quiet()
}

// farEnd is the process id of the only far end there.
func (w *user) farEnd() string {
	w.t.Helper()
	for line := range strings.Lines(w.asThere(`ps -eo pid,args | grep '[r]ingfence-there-stays'`).out) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "ringfence-there-stays" {
			return f[0]
		}
	}
	w.t.Fatal("no far end")
	return ""
}

// What was discarded does not come back without a word.
func TestFetchAfterDecision(t *testing.T) {
	w := newWorld(t)
	w.noneWaits()
	s := w.begin("relayed", "decided", early)
	wait.Eventually(t, "it comes", func() bool { return strings.Contains(w.ringfence("diff").out, "early") })
	w.cut()
	s.end(t)
	wait.Eventually(t, "it waits there", func() bool { return w.waitingThere() != "" })
	if r := w.ringfence("discard", "decided", "--yes"); r.status != 0 {
		t.Errorf("discard: %d", r.status)
	}
	if r := w.ringfence("attach", "decided"); r.status == 0 || !strings.Contains(r.errors, "was applied or discarded") {
		t.Errorf("attach: %d", r.status)
	}
	if r := w.ringfence("diff", "decided"); strings.Contains(r.out, "early") {
		t.Error("it came back")
	}
	if r := w.ringfence("attach", "decided"); r.status != 0 {
		t.Errorf("the second time: %d", r.status)
	}
	if r := w.ringfence("diff", "decided"); !strings.Contains(r.out, "early") {
		t.Error("it did not come")
	}
}
