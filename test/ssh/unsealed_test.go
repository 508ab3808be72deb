package ssh

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
