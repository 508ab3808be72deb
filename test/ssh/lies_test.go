package ssh

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

func lies(t *testing.T, about string) {
	t.Helper()
	if err := os.WriteFile(liarSays, []byte(about), 0o644); err != nil {
		t.Fatal(err)
	}
}

// quietly wants nothing of another machine in a text that a terminal would obey.
func quietly(t *testing.T, about, text string) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' || r == '\u202e' }) {
		t.Errorf("%s: a terminal would obey %q", about, text)
	}
}

// A machine that lies about all of its walls gets no more held than is decided here.
func TestLiarVerified(t *testing.T) {
	w := newWorld(t)
	lies(t, "walls")
	r := w.ringfence("verify", "--rung", "ssh:liar", "--json")
	var report verify.Report
	w.json(r.out, &report)
	quietly(t, "verify", r.errors)
	if r.status == 0 || len(report.Rows) < 60 {
		t.Errorf("status %d, %d checks", r.status, len(report.Rows))
	}
	partly := 0
	for _, row := range report.Rows {
		if row.Result == verify.Held && !slices.Contains(held, row.Name) {
			t.Errorf("%s is held by the word of a liar", row.Name)
		}
		if row.Result == verify.Partly {
			partly++
		}
		quietly(t, row.Name, row.Detail+row.Witness)
	}
	if partly < 30 {
		t.Errorf("only %d are partly: the liar is not heard out", partly)
	}
	r = w.ringfence("doctor", "--rung", "ssh:liar")
	quietly(t, "doctor", r.out+r.errors)
	if strings.Contains(r.out, "sudo") || !strings.Contains(r.out, "by its own word") {
		t.Errorf("doctor says %q", r.out)
	}
}

// A lie that can be told from the truth here ends the session, and nothing of what the machine
// says reaches a terminal as it is.
func TestLies(t *testing.T) {
	w := newWorld(t)
	w.put("mine", "as it was\n")
	for about, says := range map[string]string{
		"processor": "the machine is", "system": "there is no ringfence for", "survey": "another processor", "digest": "another program", "kernel": "a kernel",
		"needs": "not in the parcel", "place": "no place", "failure": "evil", "wall": "is missing", "exit": "the far end is gone", "layer": "the far end is gone",
	} {
		lies(t, about)
		r := w.on("liar", "true")
		if r.status != 125 || !strings.Contains(r.errors, says) {
			t.Errorf("%s: status %d, %q", about, r.status, r.errors)
		}
		quietly(t, about, r.errors)
	}
	if w.read("mine") != "as it was\n" {
		t.Error("the project was changed")
	}
	w.ringfence("discard", "--yes")
}

// What a liar says that the agent printed goes through the same filter as what one prints.
func TestLiarsTerminal(t *testing.T) {
	w := newWorld(t)
	lies(t, "walls")
	cmd := w.command(stage.Ringfence, "run", "--rung", "ssh:liar", "--", "sh")
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	seen, _ := io.ReadAll(master) // EIO at the end
	cmd.Wait()
	if !bytes.Contains(seen, []byte("evil")) {
		t.Errorf("the terminal shows nothing: %q", seen)
	}
	if bytes.Contains(seen, []byte("\x1b]52")) {
		t.Errorf("the terminal is told %q", seen)
	}
}

// What a machine had sent it cannot take away again: it waits here until the review ends.
func TestTakenAway(t *testing.T) {
	w := newWorld(t)
	lies(t, "takes away")
	s := w.begin("liar", "taken", "true")
	wait.Eventually(t, "what there is comes", func() bool { return strings.Contains(w.ringfence("diff").out, "one") })
	s.stdin.Close()
	s.end(t)
	if said := s.errs.String(); !strings.Contains(said, "1 file") || !strings.Contains(said, "until the review ends") {
		t.Errorf("nobody is told: %q", said)
	}
}
