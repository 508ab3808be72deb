package ssh

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// A way of 200 ms there and back that loses one segment of a hundred is slow, and nothing
// else.
func TestLossy(t *testing.T) {
	w := newWorld(t)
	b := make([]byte, 2<<20)
	rand.Read(b)
	w.put("big", string(b))
	began := time.Now()
	cmd := w.command(stage.Ringfence, "run", "--rung", "ssh:lossy", "--", "sh", "-c", "sha256sum <big; head -c 1000000 big >made; head -c 300000 big; exit 7")
	out, _ := cmd.Output() // more than a log needs
	applied, want := w.ringfence("apply", "--yes").status, fmt.Sprintf("%x  -\n%s", sha256.Sum256(b), b[:300000])
	if status := cmd.ProcessState.ExitCode(); status != 7 || string(out) != want || applied != 0 || w.read("made") != string(b[:1000000]) {
		t.Errorf("status %d, %d bytes, apply %d, %d bytes", status, len(out), applied, len(w.read("made")))
	}
	t.Logf("with 2 MB sent, 0.3 MB printed and 1 MB brought back: %v", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	s := w.begin("lossy", "beside", "echo up; read x")
	t.Logf("the first byte of the agent, with nothing to be sent: %v", time.Since(began).Round(time.Millisecond))
	var took []time.Duration
	for range 5 {
		began = time.Now()
		if r := w.ringfence("exec", "beside", "--", "sh", "-c", "exit 9"); r.status != 9 {
			t.Errorf("exec: %d", r.status)
		}
		took = append(took, time.Since(began).Round(time.Millisecond))
	}
	t.Logf("a second command each: %v", took)
	s.stdin.Close()
	s.end(t)
	w.quiet()
}

// Whoever dies on such a way, nothing runs on.
func TestLossyKilled(t *testing.T) {
	const script = `echo before >early; echo up; while :; do sleep 1; done`
	t.Run("here", func(t *testing.T) {
		w := newWorld(t)
		s := w.begin("lossy", "killed-here", script)
		s.Process.Kill()
		s.end(t)
		w.quiet()
	})
	t.Run("there", func(t *testing.T) {
		w := newWorld(t)
		s := w.begin("lossy", "killed-there", script)
		wait.Eventually(t, "what there is comes", func() bool { return strings.Contains(w.ringfence("diff").out, "early") })
		w.asThere(`kill -9 $(ps -eo pid,args | grep '[r]ingfence-there' | while read p rest; do echo $p; done)`)
		if s.end(t) == 0 {
			t.Error("nobody was told")
		}
		if r := w.ringfence("diff"); !strings.Contains(r.out, "early") {
			t.Error("what had been brought over is lost")
		}
		if r := w.ringfence("attach", "killed-there"); r.status != 0 {
			t.Errorf("attach: %d", r.status)
		}
		w.quiet()
	})
}

// A disk that an agent fills there is full for the agent: what it made before comes back.
func TestFilledThere(t *testing.T) {
	w := newWorld(t)
	r := w.on("small", "echo before >early; head -c 100000000 /dev/zero >big || { rm -f big; echo full; exit 6; }")
	if r.status != 6 || r.out != "full\n" || !strings.Contains(r.errors, "early") {
		t.Errorf("status %d, %q, %q", r.status, r.out, r.errors)
	}
	r = w.on("small", "echo after >late; head -c 100000000 /dev/zero >big; exit 5")
	t.Logf("with the disk left full: status %d", r.status)
	if d := w.ringfence("diff"); r.status != 5 || !strings.Contains(d.out, "late") {
		t.Errorf("status %d: %s", r.status, d.out)
	}
}
