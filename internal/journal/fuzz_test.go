package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzDecode: a line that decodes is the one form of its record; whatever a
// journal holds, a reader comes to its end and finds the sound line there.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(sound + "\n" + sound))
	f.Add([]byte(sound[:40]))
	full := Record{V: Version, Seq: 1<<64 - 1, Time: noon, Session: session, Kind: Net, Event: End, Conn: 1, Via: "socks", Protocol: "tls",
		Name: "\x1b\u202e\U0001f600.test", Addr: "2001:db8::1", Port: 65535, Method: "GET", Verdict: Allow, Rule: "*.test", Source: "user",
		Reason: "\"\\", Sent: 1 << 62, Received: 1, PID: 1 << 22, Command: "curl", State: Opened, Mode: "nft", Count: 2,
		Agent: "a", Version: "1", Digest: "sha256:00", Code: 1}
	full.List, _ = MakeNames([]string{"/a b", "", "\x1b"})
	f.Add(full.AppendJSON(nil))
	full.Kind, full.Event, full.Name, full.Agent = Session, Begin, `a\\"b\`, `,"name":"x"`
	f.Add(full.AppendJSON(nil))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decode(b); err == nil {
			got, ok := glanceRecord(b, r.Session)
			dir, _, _ := strings.Cut(r.List.joined, "\x00")
			begin := r.Kind == Session && r.Event == Begin
			if first, _, _ := strings.Cut(got.List.joined, "\x00"); !ok || !got.Time.Equal(r.Time) || begin && (got.Name != r.Name || got.Agent != r.Agent || first != dir) {
				t.Errorf("a glance at %q gives %+v", b, got)
			}
			if again := r.AppendJSON(nil); !bytes.Equal(again, b) || r.V != Version && r.V != unchained || !known(r.Kind) {
				t.Errorf("%q decodes to what is written %q", b, again)
			}
		} else if r != (Record{}) {
			t.Errorf("both %+v and %v", r, err)
		}
		path := filepath.Join(dir, session+suffix)
		if err := os.WriteFile(path, append(b, "\n"+sound+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		readOut(t, dir, bytes.Count(b, []byte("\n"))+2)
	})
}

// readOut reads a journal of so many lines, the last of which is sound.
func readOut(t *testing.T, dir string, lines int) {
	t.Helper()
	r, err := Open(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var last error
	for i := range lines + 1 {
		_, err := r.Next()
		var bad *BadLine
		switch {
		case err == io.EOF && i == lines && last == nil:
			return
		case err != nil && (!errors.As(err, &bad) || bad.Line != i+1):
			t.Fatalf("line %d of %d: %v, then %v", i+1, lines, last, err)
		}
		last = err
	}
	t.Fatalf("more than %d lines", lines)
}

// FuzzEncode: what is written is one bounded line of printable ASCII, and
// decodes to the same record with its strings bounded.
func FuzzEncode(f *testing.F) {
	f.Add("decision", "api.test", "a reason", uint64(1), int64(0), int64(0), 1, uint16(443), int64(0))
	f.Add("end", "\x1b[2J\u202e\u200b", "\xff\xfe\xc3", uint64(0), int64(-1), int64(1<<62), -1, uint16(0), int64(1e15))
	f.Add("\"\\\n", "\ud7ff\U0010ffff\u2028", string(bytes.Repeat([]byte("é"), 400)), uint64(1<<63), int64(7), int64(0), 0, uint16(1), int64(-1e12))
	f.Fuzz(func(t *testing.T, word, text, more string, n uint64, sent, received int64, small int, port uint16, ms int64) {
		r := Record{V: Version, Seq: n, Time: time.UnixMilli(ms % 2e14), Session: session, Kind: Net, Event: word, Conn: n / 3, Via: word,
			Protocol: word, Name: text, Addr: more, Port: port, Method: word, Verdict: word, Rule: more, Source: text, Reason: more,
			Sent: sent, Received: received, PID: small, Command: text, State: word, Mode: word, Count: small,
			Agent: text, Version: more, Digest: text, Code: small}
		if n%2 == 0 {
			r.Kind, r.Prev = Session, Hash{1, byte(n)}
			r.List, _ = MakeNames([]string{text, more, word})
		}
		if r.Time.UTC().Year() < 0 {
			t.Skip("no clock says so")
		}
		line := r.AppendJSON(nil)
		if len(line) > maxLine || bytes.ContainsFunc(line, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Fatalf("line of %d bytes: %q", len(line), line)
		}
		got, err := decode(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if want := bounded(r); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

// bounded is r as it must come back.
func bounded(r Record) Record {
	for _, s := range []*string{&r.Event, &r.Via, &r.Protocol, &r.Method, &r.Verdict, &r.State, &r.Mode} {
		*s = bound(*s, maxWord)
	}
	for _, s := range []*string{&r.Name, &r.Addr, &r.Rule, &r.Source, &r.Reason, &r.Command, &r.Agent, &r.Version, &r.Digest} {
		*s = bound(*s, maxText)
	}
	for _, n := range []*int64{&r.Sent, &r.Received} {
		*n = max(*n, 0)
	}
	r.Code = max(r.Code, 0)
	r.PID, r.Count, r.Time = max(r.PID, 0), max(r.Count, 0), r.Time.UTC()
	return r
}
