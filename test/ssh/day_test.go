package ssh

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/screen"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// A day: work there, review, apply and undo here.
func TestDay(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "first\n")
	w.put("gone.txt", "x\n")
	w.do("/usr/bin/git", "init", "-q", ".")
	r := w.on("box", `cat a.txt; echo second >>a.txt; echo new >b.txt; rm gone.txt; mkdir d; ln -s ../a.txt d/l; git status --short | sort; pwd; exit 7`)
	if want := "?? a.txt\n?? b.txt\n?? d/\n" + w.project + "\n"; r.status != 7 || r.out != "first\n"+want {
		t.Errorf("status %d, printed %q", r.status, r.out)
	}
	if w.read("a.txt") != "first\n" || w.read("gone.txt") != "x\n" {
		t.Error("something came here before it was applied")
	}
	if r := w.ringfence("diff"); !strings.Contains(r.out, "b.txt") || !strings.Contains(r.out, "gone.txt") {
		t.Error("the review does not name what changed")
	}
	if r := w.ringfence("apply", "--yes"); r.status != 0 || w.read("a.txt") != "first\nsecond\n" || w.read("b.txt") != "new\n" {
		t.Errorf("apply: %d", r.status)
	}
	if _, err := os.Lstat(w.project + "/gone.txt"); err == nil {
		t.Error("what was deleted is still here")
	}
	if r := w.ringfence("undo", "--yes"); r.status != 0 || w.read("a.txt") != "first\n" || w.read("gone.txt") != "x\n" {
		t.Errorf("undo: %d", r.status)
	}
	w.quiet()
}

// What would be done there is shown here before, and nothing of the project goes there for that.
func TestShownBefore(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "first\n")
	before := w.asThere("ls -A .cache/ringfence/store 2>/dev/null").out
	r := w.ringfence("run", "--rung", "ssh:box", "--dry-run", "--", "sh", "-c", "exit 7")
	if r.status != 0 || !strings.Contains(r.out, w.project) || !strings.Contains(r.out+r.errors, "ssh (box)") {
		t.Errorf("status %d", r.status)
	}
	if after := w.asThere("ls -A .cache/ringfence/store 2>/dev/null").out; after != before {
		t.Error("something of the project was sent")
	}
}

// A second command, and a terminal.
func TestBeside(t *testing.T) {
	w := newWorld(t)
	s := w.begin("box", "day", "echo up; read x; exit 3")
	r := w.ringfence("exec", "day", "--", "sh", "-c", "echo beside >made; exit 5")
	if r.status != 5 {
		t.Errorf("exec: %d", r.status)
	}
	if r := w.ringfence("status", "--json"); !strings.Contains(r.out, `"ssh"`) {
		t.Error("status does not say where it runs")
	}
	s.stdin.Close()
	if got := s.end(t); got != 3 {
		t.Errorf("ended with %d", got)
	}
	if r := w.ringfence("diff"); !strings.Contains(r.out, "made") {
		t.Error("what the second command made is not in the review")
	}
	w.quiet()
}

// A terminal there, of the size of the one here, and a key that comes back.
func TestTerminal(t *testing.T) {
	w := newWorld(t)
	pane := screen.NewPane(t, stage.Work, w.command(stage.Ringfence, "run", "--rung", "ssh:slow", "--", "sh", "-c", `stty size; echo "name? "; read name; echo "hello, $name"; read end`), false)
	wait.Eventually(t, "the size of the terminal", func() bool { return pane.Shows("24 80") && pane.Shows("name?") })
	pane.Do("send-keys", "Ada", "Enter")
	wait.Eventually(t, "the answer", func() bool { return pane.Shows("hello, Ada") })
	pane.Do("send-keys", "Enter")
	wait.Eventually(t, "the end", pane.Ended)
}

// What is there already is not sent again.
func TestDifferences(t *testing.T) {
	w := newWorld(t)
	const big = 3 << 20
	b := make([]byte, big)
	if _, err := io.ReadFull(world.Pattern(big), b); err != nil {
		t.Fatal(err)
	}
	w.put("big", string(b))
	w.put("little", "one\n")
	sum := func(host string) (string, int64) {
		os.Remove(counts)
		r := w.on(host, "sha256sum big; cat little")
		n, err := os.ReadFile(counts)
		sent, cerr := strconv.ParseInt(string(n), 10, 64)
		if r.status != 0 || err != nil || cerr != nil {
			t.Fatalf("status %d, %v %v", r.status, err, cerr)
		}
		return r.out, sent
	}
	first, sent := sum("relayed")
	w.put("little", "two\n")
	second, again := sum("relayed")
	if !strings.HasSuffix(first, "one\n") || !strings.HasSuffix(second, "two\n") || first[:64] != second[:64] {
		t.Errorf("first %q, second %q", first, second)
	}
	t.Logf("sent %d bytes, then %d", sent, again)
	if sent < big || again > big/4 {
		t.Errorf("sent %d bytes, then %d: the second session sends all of it again", sent, again)
	}
}

// What the machine keeps of a project is read before it is taken for what it was.
func TestStoreTampered(t *testing.T) {
	w := newWorld(t)
	w.put("kept", "as it was here\n")
	if r := w.on("box", "cat kept"); r.out != "as it was here\n" {
		t.Fatal(r.out)
	}
	w.asThere(`for f in .cache/ringfence/store/*/*; do chmod u+w "$f"; echo "something else" >"$f"; done`)
	if r := w.on("box", "cat kept"); r.out != "as it was here\n" {
		t.Errorf("the agent got %q", r.out)
	}
}

// Our program there is compared before each start, and brought again if it is another.
func TestTampered(t *testing.T) {
	w := newWorld(t)
	programs := func() []string {
		return strings.Fields(w.asThere("cd .cache/ringfence && sha256sum */ringfence 2>/dev/null").out)
	}
	if r := w.on("box", "exit 4"); r.status != 4 {
		t.Fatal(r.status)
	}
	honest := programs()
	w.asThere(`for f in .cache/ringfence/*/ringfence; do chmod u+w "$f"; printf "#!/bin/sh\ntouch /srv/there/it-ran\n" >"$f"; done`)
	if slices.Equal(programs(), honest) {
		t.Fatal("nothing was tampered with")
	}
	if r := w.on("box", "exit 4"); r.status != 4 {
		t.Errorf("status %d", r.status)
	}
	if _, err := os.Stat(there + "/it-ran"); err == nil || !slices.Equal(programs(), honest) {
		t.Error("another program ran, or stays there")
	}
	// One that cannot be brought is refused.
	w.asThere(`cd .cache/ringfence && for f in */ringfence; do rm -f "$f"; mkdir "$f"; done`)
	if r := w.on("box", "exit 4"); r.status != 125 || r.out != "" {
		t.Errorf("status %d, printed %q", r.status, r.out)
	}
	w.asThere(`rmdir .cache/ringfence/*/ringfence; rm -rf .cache/ringfence/*/ringfence`)
}

// What nobody used for long is removed there by the next session, which keeps its own.
func TestThinned(t *testing.T) {
	w := newWorld(t)
	w.put("kept", "x\n")
	old := strings.Repeat("a", 64)
	w.asThere("mkdir -p .cache/ringfence/" + old + " .cache/ringfence/store/" + old + "; touch -d '40 days ago' .cache/ringfence/" + old + " .cache/ringfence/store/" + old)
	if r := w.on("box", "cat kept"); r.status != 0 {
		t.Fatal(r.status)
	}
	left := w.asThere("ls .cache/ringfence .cache/ringfence/store; ls .cache/ringfence/*/ringfence").out
	if strings.Contains(left, old) || !strings.Contains(left, "/ringfence\n") {
		t.Error(left)
	}
}
