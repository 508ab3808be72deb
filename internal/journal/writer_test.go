package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

func TestLines(t *testing.T) {
	w, dir := create(t, session)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is made before the first record: %v", err)
	}
	for _, r := range []Record{
		{Event: Gate, State: Opened, Mode: "nft"},
		{Event: Decision, Conn: 7, Via: "tcp", Protocol: "tls", Name: "api.test", Addr: "192.0.2.1", Port: 443, Verdict: Allow,
			Rule: "api.test", Source: "dev", Reason: "a rule allows it", PID: 42, Command: "curl"},
		{Event: End, Conn: 7},
		{Event: Decision, Name: "x.test", Method: "PUT", Verdict: Deny, Sent: 1, Count: 3},
		{Event: Gate, State: Closed},
	} {
		write(t, w, r)
	}
	want := ""
	prev := header(session, w.key.ID())
	for i, rest := range []string{
		`"gate","state":"opened","mode":"nft"}`,
		`"decision","conn":7,"via":"tcp","protocol":"tls","name":"api.test","addr":"192.0.2.1","port":443,"verdict":"allow",` +
			`"rule":"api.test","source":"dev","reason":"a rule allows it","pid":42,"command":"curl"}`,
		`"end","conn":7,"sent":0,"received":0}`,
		`"decision","name":"x.test","method":"PUT","verdict":"deny","sent":1,"received":0,"count":3}`,
		`"gate","state":"closed"}`,
	} {
		line := fmt.Sprintf(`{"v":2,"seq":%d,"time":"2026-03-04T11:00:00.123Z","session":"0123456789","prev":"%s","kind":"net","event":%s`, i+1, prev, rest)
		prev = sha256.Sum256([]byte(line))
		want += line + "\n"
	}
	if got := content(t, dir, session); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for path, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, session+suffix): 0o600,
		filepath.Join(dir, session+headSuffix): 0o600, sealDir(dir): 0o700, filepath.Join(sealDir(dir), "key"): 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
	flags, err := unix.FcntlInt(uintptr(w.file), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the journal survives exec: %v", err)
	}
}

// TestHostileStrings: whatever a string holds, the file is lines of printable
// ASCII, and a reader gets it back.
func TestHostileStrings(t *testing.T) {
	hostile := map[string]string{
		"\x1b]0;title\a\x1b[2J":            "\x1b]0;title\a\x1b[2J",
		"a\nb\r\n{\"v\":1}":                "a\nb\r\n{\"v\":1}",
		"\x00\x7f\u0085\u009b":             "\x00\x7f\u0085\u009b",
		"gpj.\u202eexe\u2066\u200b\ufeff":  "gpj.\u202eexe\u2066\u200b\ufeff",
		"\"\\\u2028 </script> \U0001f600":  "\"\\\u2028 </script> \U0001f600",
		"bad \xff\xfe utf-8 \xed\xa0\x80":  "bad \ufffd utf-8 \ufffd",
		strings.Repeat("x", 300):           strings.Repeat("x", 300),
		strings.Repeat("x", 301):           strings.Repeat("x", 297) + "…",
		strings.Repeat("\x01", 1<<20):      strings.Repeat("\x01", 297) + "…",
		strings.Repeat("é", 151):           strings.Repeat("é", 148) + "…",
		strings.Repeat("\xff", 301) + "tl": "\ufffdtl",
		strings.Repeat("\xff", 400):        "\ufffd…",
	}
	for s, want := range hostile {
		w, dir := create(t, session)
		write(t, w, Record{Event: s, Via: s, Protocol: s, Name: s, Addr: s, Method: s, Verdict: s, Rule: s, Source: s,
			Reason: s, Command: s, State: s, Mode: s})
		write(t, w, Record{})
		text := content(t, dir, session)
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }); i >= 0 || strings.Count(text, "\n") != 2 {
			t.Errorf("%.20q makes %q", s, text)
		}
		records, bad := all(t, dir, session)
		if len(records) != 2 || len(bad) != 0 {
			t.Fatalf("%.20q: %d records, %v", s, len(records), bad)
		}
		r := records[0]
		for _, got := range []string{r.Name, r.Addr, r.Rule, r.Source, r.Reason, r.Command} {
			if got != want {
				t.Errorf("%.20q comes back as %q, want %q", s, got, want)
			}
		}
		for _, got := range []string{r.Event, r.Via, r.Protocol, r.Method, r.Verdict, r.State, r.Mode} {
			if got != bound(s, maxWord) || len(got) > maxWord {
				t.Errorf("%.20q comes back as %q", s, got)
			}
		}
	}
}

func TestPlanted(t *testing.T) {
	plants := map[string]func(name, victim string) error{
		"symlink":          func(name, victim string) error { return os.Symlink(victim, name) },
		"dangling symlink": func(name, victim string) error { return os.Symlink(victim+"-gone", name) },
		"hard link":        func(name, victim string) error { return os.Link(victim, name) },
		"file":             func(name, victim string) error { return os.WriteFile(name, nil, 0o600) },
		"fifo":             func(name, victim string) error { return unix.Mkfifo(name, 0o600) },
		"directory":        func(name, victim string) error { return os.Mkdir(name, 0o700) },
	}
	for what, plant := range plants {
		w, dir := create(t, session)
		victim := filepath.Join(t.TempDir(), "victim")
		for _, err := range []error{os.MkdirAll(dir, 0o700), os.WriteFile(victim, []byte("whole"), 0o600),
			plant(filepath.Join(dir, session+suffix), victim)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(Record{}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", what, err)
		}
		if b, err := os.ReadFile(victim); string(b) != "whole" || err != nil {
			t.Errorf("%s: the victim has %q, %v", what, b, err)
		}
		if _, err := os.Lstat(victim + "-gone"); err == nil {
			t.Errorf("%s was followed", what)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, id := range []string{"", "012345678", "01234567890", "012345678i", "ABCDEFGHJK", "../../../x", "012345/789", "........."} {
		if w, dir := create(t, id); w.Write(Record{}) == nil {
			t.Errorf("a journal was made for %q", id)
		} else if _, err := Open(dir, id); fault.KindOf(err) != fault.Usage {
			t.Errorf("open %q: %v", id, err)
		}
	}
	w, dir := create(t, session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(Record{}); fault.KindOf(err) != fault.Refused || fault.HintOf(err) == "" {
		t.Errorf("a directory open to others: %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, w, Record{})
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if err := w.Write(Record{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	if err := Create(dir, session).Close(); err != nil {
		t.Errorf("close of an unused writer: %v", err)
	}
}

func TestConcurrentWriters(t *testing.T) {
	const writers, each = 8, 250
	w, dir := create(t, session)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				if err := w.Write(Record{Event: Decision, Conn: uint64(i*each + j + 1), Name: strings.Repeat("n", j)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	records, bad := all(t, dir, session)
	if len(records) != writers*each || len(bad) != 0 {
		t.Fatalf("%d records, %v", len(records), bad)
	}
	seen := map[uint64]bool{}
	for i, r := range records {
		if r.Seq != uint64(i+1) || seen[r.Conn] || len(r.Name) != int(r.Conn-1)%each {
			t.Fatalf("record %d: %+v", i, r)
		}
		seen[r.Conn] = true
	}
}

// tear makes the next write of w stop after some bytes of the line, -1 meaning
// all but one, and fail.
func tear(w *Writer, after int) {
	w.calls.write = func(fd int, b []byte) (int, error) {
		w.calls.write = func(int, []byte) (int, error) {
			w.calls.write = unix.Write
			return -1, unix.ENOSPC
		}
		switch {
		case after == 0:
			return w.calls.write(fd, b)
		case after < 0:
			return unix.Write(fd, b[:len(b)-1])
		}
		return unix.Write(fd, b[:after])
	}
}

// TestTorn: a write that got half way swallows no other record; while the half
// cannot be cut off, nothing is written.
func TestTorn(t *testing.T) {
	tests := map[string]struct {
		after   int
		stay    int // how many times the half cannot be cut off
		refused int // how many records are refused for it
	}{
		"nothing written":              {0, 0, 0},
		"one byte, cut off":            {1, 0, 0},
		"all but the newline, cut off": {-1, 0, 0},
		"half, cut off later":          {40, 1, 0},
		"half, stays":                  {40, 9, 8},
		"all but the newline, stays":   {-1, 9, 8},
		"nothing, no truncation":       {0, 9, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, dir := create(t, session)
			write(t, w, Record{Event: "first"})
			stay := tt.stay
			w.calls.truncate = func(fd int, size int64) error {
				if stay--; stay >= 0 {
					return unix.EIO
				}
				return unix.Ftruncate(fd, size)
			}
			tear(w, tt.after)
			if err := w.Write(Record{Event: "second"}); !errors.Is(err, unix.ENOSPC) {
				t.Errorf("got %v", err)
			}
			for i := range tt.refused {
				if err := w.Write(Record{Event: "between"}); err == nil {
					t.Errorf("record %d was written after half a line", i)
				}
			}
			write(t, w, Record{Event: "third"})
			write(t, w, Record{Event: "fourth"})
			checkTorn(t, dir)
			checkSize(t, w)
		})
	}
}

// TestShort: a disk that takes a line in pieces takes it, one that takes nothing
// does not, and an interruption is neither.
func TestShort(t *testing.T) {
	w, dir := create(t, session)
	calls := 0
	w.calls.write = func(fd int, b []byte) (int, error) {
		if calls++; calls%2 == 0 {
			return -1, unix.EINTR
		}
		return unix.Write(fd, b[:1+len(b)/2])
	}
	for _, event := range []string{"first", "third", "fourth"} {
		write(t, w, Record{Event: event})
	}
	w.calls.write = func(int, []byte) (int, error) { return 0, nil }
	if err := w.Write(Record{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
	checkTorn(t, dir)
	checkSize(t, w)
}

func checkSize(t *testing.T, w *Writer) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(w.file, &st); err != nil || st.Size != w.size {
		t.Errorf("size %d, noted %d, %v", st.Size, w.size, err)
	}
}

func checkTorn(t *testing.T, dir string) {
	t.Helper()
	records, bad := all(t, dir, session)
	if len(bad) != 0 {
		t.Errorf("bad lines: %v", bad)
	}
	got := ""
	for _, r := range records {
		got += fmt.Sprintf("%d %s ", r.Seq, r.Event)
	}
	if got != "1 first 2 third 3 fourth " {
		t.Errorf("records %s", got)
	}
}

// TestFull: a journal goes on in further parts up to its bound; what has happened
// is told for longer than what is yet to be decided.
func TestFull(t *testing.T) {
	w, dir := create(t, session)
	write(t, w, Record{Event: Gate, State: Opened})
	for _, tt := range []struct {
		free int64
		r    Record
	}{
		{8<<20 + 300, Record{Event: Decision}},
		{1<<20 + 300, Record{Event: End}},
		{300, Record{Kind: Session, Event: Exit}},
	} {
		w.total = maxTotal - tt.free
		for _, want := range []error{nil, ErrFull} {
			if err := w.Write(tt.r); !errors.Is(err, want) {
				t.Errorf("%s with %d bytes free: %v, want %v", tt.r.Event, tt.free, err, want)
			}
		}
	}
	if records, bad := all(t, dir, session); len(records) != 4 || len(bad) != 0 {
		t.Errorf("%d records, %v", len(records), bad)
	}
}

// fillPart makes the part of w look full, without writing so much: a hole of spaces
// would not be records, so the bound is met by what w believes.
func fillPart(w *Writer) { w.size = maxPart - 10 }

// TestRotate: parts are one journal for whoever reads or verifies it.
func TestRotate(t *testing.T) {
	w, dir := create(t, session)
	for i := range 5 {
		write(t, w, Record{Event: Decision, Name: fmt.Sprint(i)})
		fillPart(w)
	}
	fillPart(w)
	write(t, w, Record{Kind: Session, Event: Exit})
	w.part = maxParts
	fillPart(w)
	if err := w.Write(Record{}); !errors.Is(err, ErrFull) {
		t.Errorf("more than %d parts: %v", maxParts, err)
	}
	w.part = 6
	if names, err := filepath.Glob(filepath.Join(dir, session+"*"+suffix)); err != nil || len(names) != 6 {
		t.Errorf("parts %q, %v", names, err)
	}
	records, bad := all(t, dir, session)
	if len(records) != 6 || len(bad) != 0 || records[5].Event != Exit {
		t.Errorf("%+v, %v", records, bad)
	}
}
