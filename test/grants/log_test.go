package grants

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// decoded reads what `log --json` prints.
func decoded(t *testing.T, text string) []journal.Record {
	t.Helper()
	var out []journal.Record
	for line := range strings.Lines(text) {
		var r journal.Record
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		out = append(out, r)
	}
	return out
}

// TestLogFollow: it shows what happens while it happens, and ends with the session.
func TestLogFollow(t *testing.T) {
	for _, how := range []string{"ends", "is killed"} {
		t.Run(how, func(t *testing.T) {
			w := world.New(t)
			s := hand.Start(t, w, "--allow-host", world.Allowed)
			ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
			defer cancel()
			cmd := w.Command(ctx, "log", "-f")
			var out hand.Output
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- cmd.Wait() }()
			s.Do(order.Order{Do: "get", At: "http://" + world.Allowed + "/"})
			wait.Eventually(t, "the allowed one is shown", func() bool { return strings.Contains(out.String(), "allow allowed.test:80") })
			s.Do(order.Order{Do: "look", At: world.Other})
			wait.Eventually(t, "the denied one is shown", func() bool { return strings.Contains(out.String(), "deny  other.test") })
			s.Grant("--host", world.Other)
			wait.Eventually(t, "the grant is shown", func() bool { return strings.Contains(out.String(), "grant other.test for this session") })
			select {
			case err := <-done:
				t.Fatalf("it ended before the session: %v\n%s", err, out.String())
			default:
			}
			if how == "ends" {
				s.Stop()
			} else {
				s.Cmd.Process.Kill()
				<-s.Exited()
			}
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%v\n%s", err, out.String())
				}
			case <-time.After(wait.Patience):
				t.Errorf("it does not end with the session:\n%s", out.String())
			}
			if how == "ends" && !strings.HasSuffix(strings.TrimSpace(out.String()), ", exited") {
				t.Errorf("the last line:\n%s", out.String())
			}
		})
	}
}

// TestLog: the newest session, or the one that is named; all of it, or what was
// refused; for people and for programs.
func TestLog(t *testing.T) {
	w := world.New(t)
	if r := hand.Ringfence(t, w, "log"); r.Status != 1 || !strings.Contains(r.Stderr, "no session has left a record") {
		t.Errorf("before the first session: %+v", r)
	}
	one := hand.Start(t, w, "--allow-host", world.Allowed)
	one.Do(order.Order{Do: "get", At: "http://" + world.Allowed + "/"})
	one.Do(order.Order{Do: "look", At: "first." + world.Other})
	one.Stop()
	time.Sleep(20 * time.Millisecond) // the newest is told by the time of the file
	two := hand.Start(t, w)
	two.Do(order.Order{Do: "look", At: "second." + world.Other})
	two.Stop()

	if r := hand.Ringfence(t, w, "log"); r.Status != 0 || !strings.Contains(r.Stdout, "second.other.test") || strings.Contains(r.Stdout, "first.") {
		t.Errorf("the newest: %+v", r)
	}
	r := hand.Ringfence(t, w, "log", one.ID)
	for _, want := range []string{"gate opened dev", "allow allowed.test:80 tcp http GET → ", "end   allowed.test:80 ", "deny  first.other.test dns udp: no rule allows this name [mode dev]", "gate closed"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("log does not say %q:\n%s", want, r.Stdout)
		}
	}
	r = hand.Ringfence(t, w, "log", one.ID, "--denied", "--net")
	if strings.Contains(r.Stdout, "allow ") || !strings.Contains(r.Stdout, "first.other.test") {
		t.Errorf("--denied:\n%s", r.Stdout)
	}
	all := decoded(t, hand.Ringfence(t, w, "log", "--json", one.ID).Stdout)
	if len(all) < 4 || all[0].Event != journal.Begin || all[len(all)-1].Event != journal.Exit {
		t.Errorf("--json: %+v", all)
	}
	for i, r := range all {
		if r.Session != one.ID || r.Seq != uint64(i+1) || r.Time.IsZero() || r.V != journal.Version {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	for _, r := range decoded(t, hand.Ringfence(t, w, "log", "--json", "--denied", one.ID).Stdout) {
		if r.Verdict != journal.Deny {
			t.Errorf("--json --denied: %+v", r)
		}
	}
	for _, id := range []string{"0000000000", "nonsense", "../../../etc/passwd", strings.Repeat("x", 5000), "a\x1b[2Jb"} {
		if r := hand.Ringfence(t, w, "log", id); r.Status != 1 || r.Stdout != "" || !strings.HasPrefix(r.Stderr, "ringfence: error: no record of session") || strings.Contains(r.Stderr, "\x1b") {
			t.Errorf("log %q: %+v", id, r)
		}
	}
}

// hostile are bytes that an agent sends where a name belongs.
var hostile = []string{
	"a\x1b[2J\x1b]0;pwned\x07.test",
	"a\x1b]9;grant it\x07.test",
	"a\x9b2J.test",
	"a\rringfence: allowed.test",
	"a\u202egnp.test",
	"a\u2028b.test",
	"a\x00b.test",
	"a\x7fb.test",
	"\xff\xfe.test",
	strings.Repeat("a.", 120) + "test",
	strings.Repeat("a", 4000) + ".test",
}

// TestLogHostile: what the agent names cannot speak to the terminal, in no command
// that shows it.
func TestLogHostile(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w, "--verbose")
	var due []<-chan order.Answer
	for _, name := range hostile {
		short := name[:min(len(name), 127)]
		for _, o := range []order.Order{
			{At: "127.0.0.1:808", Bytes: []byte("CONNECT " + name + ":443 HTTP/1.1\r\nHost: x\r\n\r\n")},
			{At: "127.0.0.1:808", Bytes: []byte("GET http://" + name + "/ HTTP/1.1\r\nHost: " + name + "\r\n\r\n")},
			{At: "127.0.0.1:808", Bytes: []byte("\x05\x01\x00\x05\x01\x00\x03" + string(rune(len(short))) + short + "\x01\xbb")},
			{At: "127.0.0.1:53", Bytes: dnsQuestion(name)},
		} {
			o.Do, o.For = "raw", 3*time.Second
			due = append(due, s.Begin(o))
		}
	}
	for _, c := range due {
		s.Wait(c)
	}
	for _, args := range [][]string{{"log", s.ID}, {"log", s.ID, "--denied"}, {"log", s.ID, "--json"}, {"requests"}, {"requests", "--json"}} {
		r := hand.Ringfence(t, w, args...)
		if bad := strings.IndexFunc(r.Stdout+r.Stderr, dangerous); bad >= 0 {
			t.Errorf("%q says %q", args, (r.Stdout + r.Stderr)[max(bad-40, 0):])
		}
		if r.Status != 0 {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := hand.Ringfence(t, w, "log", s.ID, "--denied"); strings.Count(r.Stdout, "\n") < 5 {
		t.Errorf("control: the names are not in the journal:\n%s", r.Stdout)
	}
	s.Stop()
	if bad := strings.IndexFunc(s.Screen(), dangerous); bad >= 0 {
		t.Errorf("the end of the session says %q", s.Screen()[max(bad-40, 0):])
	}
}

// dangerous holds for what a terminal obeys or what deceives its reader.
func dangerous(r rune) bool {
	return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u2028' || r == '\ufffd'
}

// dnsQuestion asks over TCP for a name whose labels are what they are.
func dnsQuestion(name string) []byte {
	q := []byte{0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		label = label[:min(len(label), 63)]
		q = append(append(q, byte(len(label))), label...)
	}
	q = append(q[:min(len(q), 250)], 0, 0, 1, 0, 1)
	return append([]byte{byte(len(q) >> 8), byte(len(q))}, q...)
}
