package ssh

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/test/wait"
)

// keep says how long a session waits for a lost link.
func (w *user) keep(long string) { w.policy("[rung]\nkeep = \"" + long + "\"\n") }

// cut cuts the link of the session that runs over the relay.
func (w *user) cut() {
	w.t.Helper()
	b, err := os.ReadFile(pids)
	pid, perr := strconv.Atoi(string(b))
	if err != nil || perr != nil {
		w.t.Fatal(err, perr)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
}

// shutWay lets no relay lead anywhere, until the test ends or the returned is called.
func (w *user) shutWay() (open func()) {
	w.t.Helper()
	if err := os.WriteFile(shut, nil, 0o666); err != nil {
		w.t.Fatal(err)
	}
	open = func() { os.Remove(shut) }
	w.t.Cleanup(open)
	return open
}

// told waits until a session says something to its person.
func (s *session) told(t *testing.T, text string) {
	t.Helper()
	wait.Eventually(t, text, func() bool { return strings.Contains(s.errs.String(), text) || s.over() })
	if !strings.Contains(s.errs.String(), text) {
		t.Fatalf("it ended without %q: %s", text, s.errs.String())
	}
}

// still says whether all processes there with a word in their arguments stand still.
func (w *user) still(word string) bool {
	out := w.asThere("ps -eo stat,args | grep '" + word + "' | grep -v grep").out
	n := 0
	for line := range strings.Lines(out) {
		if !strings.Contains(line, word) || strings.Contains(line, " run --name ") { // the one here
			continue
		}
		if n++; !strings.HasPrefix(line, "T") {
			return false
		}
	}
	return n > 0
}

// A cut link is taken up again: nothing that was printed or typed is lost or comes twice, the
// agent stands still meanwhile, and it goes on where it was.
func TestTakenUpAgain(t *testing.T) {
	w := newWorld(t)
	w.keep("1h")
	s := w.begin("relayed", "again", `echo up; : still-7f3a91; n=0; while read x; do n=$((n+1)); echo "$n $x"; [ "$x" = many ] && seq 1 300000; done; echo last >made; exit 9`)
	in := s.stdin.(io.Writer)
	var want bytes.Buffer
	fmt.Fprintln(&want, "up")
	typed := 0
	say := func(word string) {
		t.Helper()
		typed++
		fmt.Fprintf(&want, "%d %s\n", typed, word)
		if _, err := io.WriteString(in, word+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say("before")
	wait.Eventually(t, "the agent answers", func() bool { return s.out.has("1 before\n") })
	say("many")
	for i := range 300000 {
		fmt.Fprintln(&want, i+1)
	}
	wait.Eventually(t, "it prints", func() bool { return s.out.has("\n77\n") })
	open := w.shutWay()
	w.cut()
	s.told(t, "is lost")
	wait.Eventually(t, "it stands still", func() bool { return w.still("still-7f3a91") })
	say("meanwhile")
	if r := w.ringfence("ps"); !strings.Contains(r.out, "cut") {
		t.Error("ps does not say that the link is lost")
	}
	if r := w.ringfence("attach", "again"); r.status == 0 || !strings.Contains(r.errors, "cannot be taken up now") {
		t.Error("attach does not say that the way is shut")
	}
	open()
	if r := w.ringfence("attach", "again"); !strings.Contains(r.errors, "attach needs a terminal") {
		t.Errorf("attach did not take it up: %s", r.errors)
	}
	s.told(t, "is back")
	say("after")
	w.cut() // once more, and it comes back by itself
	wait.Eventually(t, "it comes back by itself", func() bool { return strings.Count(s.errs.String(), "is back") == 2 || s.over() })
	say("end")
	s.stdin.Close()
	if got := s.end(t); got != 9 {
		t.Errorf("ended with %d", got)
	}
	got, err := os.ReadFile(s.out.at)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes were printed, %d are due: %v", len(got), want.Len(), err)
	}
	if r := w.ringfence("diff"); !strings.Contains(r.out, "made") {
		t.Error("what it changed at last is not in the review")
	}
	w.quiet()
}

// A link over which nothing is heard is lost, although nobody closed it.
func TestSilentLink(t *testing.T) {
	w := newWorld(t)
	w.keep("1h")
	s := w.begin("relayed", "silent", `echo up; read x; exit 3`)
	b, err := os.ReadFile(pids)
	pid, perr := strconv.Atoi(string(b))
	if err != nil || perr != nil {
		t.Fatal(err, perr)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	s.told(t, "is back")
	s.stdin.Close()
	if got := s.end(t); got != 3 {
		t.Errorf("ended with %d", got)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	w.quiet()
}

const early = `echo SEALED-7f3a91-plain >early; echo up; while :; do sleep 1; done`

// noneWaits forgets what other tests left there.
func (w *user) noneWaits() { w.asThere("rm -rf .cache/ringfence/waiting") }

// waitingThere is what waits there to be fetched.
func (w *user) waitingThere() string {
	w.t.Helper()
	return strings.TrimSpace(strings.ReplaceAll(w.asThere("ls -A .cache/ringfence/waiting").out, "welcome to this machine", ""))
}

// What a session changed that lost its link waits there, sealed, and is fetched once.
func TestFetched(t *testing.T) {
	for _, keep := range []string{"0s", "1s"} {
		t.Run(keep, func(t *testing.T) {
			w := newWorld(t)
			w.noneWaits()
			w.keep(keep)
			s := w.begin("relayed", "fetched"+keep, early)
			open := w.shutWay()
			w.cut()
			if s.end(t) == 0 || !strings.Contains(s.errs.String(), "sealed to a key") {
				t.Error("nobody was told")
			}
			w.quiet()
			wait.Eventually(t, "it waits there", func() bool { return w.waitingThere() != "" })
			absentThere(t, "SEALED-7f3a91-plain")
			if r := w.ringfence("attach", "fetched"+keep); r.status == 0 {
				t.Error("it came although the way is shut")
			}
			open()
			if r := w.ringfence("attach", "fetched"+keep); r.status != 0 {
				t.Errorf("status %d", r.status)
			}
			if r := w.ringfence("diff", "fetched"+keep); !strings.Contains(r.out, "early") {
				t.Error("what it changed is not in the review")
			}
			if r := w.ringfence("apply", "--yes"); r.status != 0 || w.read("early") != "SEALED-7f3a91-plain\n" {
				t.Errorf("apply: %d, %q", r.status, w.read("early"))
			}
			if left := w.waitingThere(); left != "" {
				t.Errorf("it is still there: %s", left)
			}
			if r := w.ringfence("attach", "fetched"+keep); r.status == 0 {
				t.Error("it came twice")
			}
		})
	}
}

// A supervisor that is killed leaves a session that stands still. Who fetches what it changed
// ends it.
func TestFetchedOfKilled(t *testing.T) {
	w := newWorld(t)
	w.keep("1h")
	s := w.begin("box", "orphan", early)
	s.Process.Kill()
	s.end(t)
	if r := w.on("box", "exit 6"); r.status != 6 { // another session sweeps neither end
		t.Errorf("status %d", r.status)
	}
	if r := w.ringfence("attach", "orphan"); r.status != 0 {
		t.Fatalf("status %d", r.status)
	}
	if r := w.ringfence("diff", "orphan"); !strings.Contains(r.out, "early") {
		t.Error("what it changed is not in the review")
	}
	w.quiet()
}

// What was sealed and is not what it was any more is refused, and what had come stays.
func TestSealedTampered(t *testing.T) {
	w := newWorld(t)
	w.noneWaits()
	s := w.begin("relayed", "tampered", early)
	w.ringfence("diff") // brings over what there is
	w.shutWay()()
	w.cut()
	s.end(t)
	wait.Eventually(t, "it waits there", func() bool { return w.waitingThere() != "" })
	const file = `.cache/ringfence/waiting/*/0`
	for _, how := range []string{
		`truncate -s -1 $f`,
		`printf x | dd of=$f bs=1 seek=1200 conv=notrunc 2>/dev/null`,
		`head -c 100 /dev/zero >>$f`,
	} {
		w.asThere(`for f in ` + file + `; do cp $f saved; ` + how + `; done`)
		if r := w.ringfence("attach", "tampered"); r.status == 0 || !strings.Contains(r.errors, "cannot be taken") {
			t.Errorf("%s: status %d", how, r.status)
		}
		if r := w.ringfence("diff", "tampered"); !strings.Contains(r.out, "early") {
			t.Errorf("%s: what had come is gone", how)
		}
		w.asThere(`for f in ` + file + `; do cp saved $f; done; rm saved`)
	}
	if r := w.ringfence("attach", "tampered"); r.status != 0 {
		t.Errorf("as it was: status %d", r.status)
	}
}

// Nobody else there comes in, whoever it is, and the session goes on.
func TestStrangerThere(t *testing.T) {
	w := newWorld(t)
	w.keep("1h")
	s := w.begin("relayed", "knocked", `echo up; read x; exit 3`)
	knock := func() string {
		return w.asThere(`d=$(echo .cache/ringfence/work/*/door); stat -c %a $d .cache/ringfence/work; cd $(dirname $d); ` + relay + ` knock door`).out
	}
	if got := knock(); !strings.Contains(got, "600\n700\nrefused after 0") {
		t.Errorf("while it is linked: %q", got)
	}
	open := w.shutWay()
	w.cut()
	s.told(t, "is lost")
	if got := knock(); !strings.Contains(got, "refused after 0") {
		t.Errorf("while it is cut: %q", got)
	}
	if os.Getuid() == 0 { // another user, who is even told the name
		doors, err := filepath.Glob(there + "/.cache/ringfence/work/*/door")
		if err != nil || len(doors) != 1 {
			t.Fatal(doors, err)
		}
		cmd := w.command(relay, "knock", doors[0])
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "permission denied") {
			t.Errorf("another user: %q, %v", out, err)
		}
	}
	open()
	w.ringfence("attach", "knocked")
	s.told(t, "is back")
	s.stdin.Close()
	if got := s.end(t); got != 3 {
		t.Errorf("ended with %d", got)
	}
	w.quiet()
}

// With the link the network is gone at once: a connection that was open ends here before the
// link is back, and one that is made afterwards goes its way.
func TestNetworkEndsWithLink(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := newWorld(t)
	w.keep("1h")
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	w.flags = []string{"--host-port", port}
	s := w.begin("relayed", "severed", `exec bash -c 'to=/dev/tcp/127.0.0.1/`+port+`; exec 3<>$to; echo hello >&3; echo up; read x; cat <&3; echo "first ended"; exec 4<>$to; echo again >&4; cat <&4; exit 5'`)
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(first, make([]byte, len("hello\n"))); err != nil {
		t.Fatal(err)
	}
	open := w.shutWay()
	w.cut()
	if n, err := first.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes after the link was cut", n)
	}
	open()
	w.ringfence("attach", "severed")
	s.told(t, "is back")
	s.stdin.Close()
	wait.Eventually(t, "the agent hears the end", func() bool { return s.out.has("first ended") || s.over() })
	second, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("again\n"))
	if _, err := io.ReadFull(second, said); err != nil || string(said) != "again\n" {
		t.Errorf("%q, %v", said, err)
	}
	second.Close()
	if got := s.end(t); got != 5 {
		t.Errorf("ended with %d", got)
	}
	w.quiet()
}

// Who stops a session whose link is lost does not wait for it. It ends there by itself.
func TestStoppedWhileCut(t *testing.T) {
	w := newWorld(t)
	w.noneWaits()
	w.keep("5s")
	s := w.begin("relayed", "stopped", early)
	w.shutWay()
	w.cut()
	s.told(t, "is lost")
	if r := w.ringfence("stop", "stopped"); r.status != 0 {
		t.Errorf("stop: %d", r.status)
	}
	s.end(t)
	w.quiet()
	if w.waitingThere() == "" {
		t.Error("what it changed is gone")
	}
}
