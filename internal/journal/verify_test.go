package journal

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

const other = "abcdefghjk"

// world makes two journals that ended, each in two parts, with some records.
func world(t testing.TB) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "journal")
	for _, id := range []string{session, other} {
		w := Create(dir, id)
		for i := range 6 {
			write(t, w, Record{Event: Decision, Name: fmt.Sprint("host", i, ".test"), Verdict: Allow})
			if i == 2 {
				fillPart(w)
			}
		}
		write(t, w, Record{Kind: Session, Event: Exit, State: "exited"})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func verify(t testing.TB, dir string, at *Anchor, sessions ...string) *Report {
	t.Helper()
	r, err := Verify(dir, sessions, at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Report) of(session string) Checked {
	i := slices.IndexFunc(r.Journals, func(c Checked) bool { return c.Session == session })
	if i < 0 {
		return Checked{}
	}
	return r.Journals[i]
}

func fileAt(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func put(t testing.TB, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lines of the first part of the session, changed and put back.
func relines(t testing.TB, dir string, change func(lines []string) []string) {
	t.Helper()
	lines := strings.SplitAfter(strings.TrimSuffix(fileAt(t, dir, session+suffix), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	put(t, strings.Join(change(lines), ""), dir, session+suffix)
}

func TestVerifySound(t *testing.T) {
	dir := world(t)
	r := verify(t, dir, nil)
	for _, id := range []string{session, other} {
		if c := r.of(id); c.State != Sound || c.Records != 7 || c.Signed != 7 || c.Unsigned != 0 {
			t.Errorf("%+v", c)
		}
	}
	if r.Bad() || len(r.Journals) != 2 || !strings.HasPrefix(r.Register, "4:") {
		t.Errorf("%+v", r)
	}
	if got := verify(t, dir, nil, other); len(got.Journals) != 1 || got.Journals[0].Session != other {
		t.Errorf("%+v", got)
	}
	at, err := ParseAnchor(r.Register)
	if err != nil {
		t.Fatal(err)
	}
	if err := Append(dir, session, Record{Kind: Work, Event: Applied}); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, &at); r.Bad() || r.of(session).Records != 8 || r.of(session).State != Sound {
		t.Errorf("after an append: %+v", r)
	}
}

// TestTampering: every way of changing what was signed is found, and where it was
// done to one journal, the other is still sound.
func TestTampering(t *testing.T) {
	cut := func(n int) func([]string) []string { return func(l []string) []string { return l[:len(l)-n] } }
	attacks := map[string]func(t *testing.T, dir string){
		"edit": func(t *testing.T, dir string) {
			relines(t, dir, func(l []string) []string { l[1] = strings.Replace(l[1], "host1", "host9", 1); return l })
		},
		"edit the last": func(t *testing.T, dir string) {
			put(t, strings.Replace(fileAt(t, dir, partName(session, 2)), "exited", "killed", 1), dir, partName(session, 2))
		},
		"truncate": func(t *testing.T, dir string) {
			text := fileAt(t, dir, partName(session, 2))
			put(t, text[:strings.LastIndex(text[:len(text)-1], "\n")+1], dir, partName(session, 2))
		},
		"truncate in a line": func(t *testing.T, dir string) {
			text := fileAt(t, dir, partName(session, 2))
			put(t, text[:len(text)-5], dir, partName(session, 2))
		},
		"truncate to nothing": func(t *testing.T, dir string) {
			put(t, "", dir, session+suffix)
			os.Remove(filepath.Join(dir, partName(session, 2)))
		},
		"remove the last part": func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, partName(session, 2))) },
		"cut the first part":   func(t *testing.T, dir string) { relines(t, dir, cut(1)) },
		"reorder": func(t *testing.T, dir string) {
			relines(t, dir, func(l []string) []string { l[0], l[1] = l[1], l[0]; return l })
		},
		"remove a line": func(t *testing.T, dir string) {
			relines(t, dir, func(l []string) []string { return slices.Delete(l, 1, 2) })
		},
		"a line twice": func(t *testing.T, dir string) {
			relines(t, dir, func(l []string) []string { return slices.Insert(l, 1, l[0]) })
		},
		"a line of our own": func(t *testing.T, dir string) {
			put(t, fileAt(t, dir, partName(session, 2))+sound+"\n", dir, partName(session, 2))
		},
		"splice": func(t *testing.T, dir string) {
			lines := strings.SplitAfter(fileAt(t, dir, other+suffix), "\n")
			relines(t, dir, func(l []string) []string { l[1] = lines[1]; return l })
		},
		"splice under our name": func(t *testing.T, dir string) {
			lines := strings.SplitAfter(strings.ReplaceAll(fileAt(t, dir, other+suffix), other, session), "\n")
			relines(t, dir, func(l []string) []string { l[1] = lines[1]; return l })
		},
		"the journal of another": func(t *testing.T, dir string) {
			for _, name := range []string{suffix, ".2" + suffix, headSuffix} {
				put(t, fileAt(t, dir, other+name), dir, session+name)
			}
		},
		"delete":                func(t *testing.T, dir string) { deleteAll(t, dir, session) },
		"delete the head":       func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, session+headSuffix)) },
		"delete all but a head": func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, session+suffix)) },
		"an old form":           func(t *testing.T, dir string) { deleteAll(t, dir, session); put(t, sound+"\n", dir, session+suffix) },
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			dir := world(t)
			attack(t, dir)
			r := verify(t, dir, nil)
			if c := r.of(session); c.State != Bad || c.Finding == "" || !r.Bad() {
				t.Errorf("not found: %+v", r)
			} else {
				t.Log(c.Line, c.Finding)
			}
			if c := r.of(other); c.State != Sound || len(r.Findings) != 0 {
				t.Errorf("the other: %+v, %v", c, r.Findings)
			}
			if err := Append(dir, session, Record{}); err == nil && verify(t, dir, nil).of(session).State != Bad {
				t.Error("an append covers it up")
			}
		})
	}
}

func deleteAll(t testing.TB, dir, id string) {
	t.Helper()
	for _, name := range []string{suffix, ".2" + suffix, headSuffix} {
		if err := os.Remove(filepath.Join(dir, id+name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// TestRollBack: whoever brings back an older pair of journal and head, an older
// register, or both, is found for as long as something newer is left.
func TestRollBack(t *testing.T) {
	names := []string{suffix, ".2" + suffix, headSuffix}
	dir := world(t)
	old := map[string]string{}
	for _, name := range names {
		old[name] = fileAt(t, dir, session+name)
	}
	seals := sealDir(dir)
	register, anchor := fileAt(t, seals, registerName), fileAt(t, seals, anchorName)
	at, _ := ParseAnchor(verify(t, dir, nil).Register)
	if err := Append(dir, session, Record{Kind: Work, Event: Undone}); err != nil {
		t.Fatal(err)
	}
	newRegister, newAnchor := fileAt(t, seals, registerName), fileAt(t, seals, anchorName)
	back := func() {
		for _, name := range names {
			put(t, old[name], dir, session+name)
		}
	}
	back()
	if c := verify(t, dir, nil).of(session); c.State != Bad || !strings.Contains(c.Finding, "earlier time") {
		t.Errorf("journal and head: %+v", c)
	}
	put(t, register, seals, registerName)
	if r := verify(t, dir, nil); len(r.Findings) != 1 {
		t.Errorf("and the register: %+v", r)
	}
	put(t, anchor, seals, anchorName)
	if r := verify(t, dir, nil); r.Bad() {
		t.Errorf("control: everything as it was is sound, and nothing can tell: %+v", r)
	}
	if r := verify(t, dir, &Anchor{at.N + 1, at.Hash}); !r.Bad() {
		t.Errorf("an anchor that was kept elsewhere: %+v", r)
	}
	if r := verify(t, dir, &at); r.Bad() {
		t.Errorf("control: an anchor of that time: %+v", r)
	}
	// A session that came later knows better.
	put(t, newRegister, seals, registerName)
	put(t, newAnchor, seals, anchorName)
	w := Create(dir, "zzzzzzzzzz")
	write(t, w, Record{Kind: Session, Event: Begin})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, register, seals, registerName)
	put(t, anchor, seals, anchorName)
	if c := verify(t, dir, nil).of("zzzzzzzzzz"); c.State != Bad {
		t.Errorf("the register is older than a session: %+v", c)
	}
}

// TestRegister: whatever is done to the register, its anchor or the key is found.
func TestRegister(t *testing.T) {
	attacks := map[string]func(t *testing.T, seals string){
		"remove the register": func(t *testing.T, s string) { os.Remove(filepath.Join(s, registerName)) },
		"remove the anchor":   func(t *testing.T, s string) { os.Remove(filepath.Join(s, anchorName)) },
		"remove the key":      func(t *testing.T, s string) { os.Remove(filepath.Join(s, "key")) },
		"empty the register":  func(t *testing.T, s string) { put(t, "", s, registerName) },
		"cut the register": func(t *testing.T, s string) {
			text := fileAt(t, s, registerName)
			put(t, text[:strings.LastIndex(text[:len(text)-1], "\n")+1], s, registerName)
		},
		"edit the register": func(t *testing.T, s string) {
			put(t, strings.Replace(fileAt(t, s, registerName), `"ended"`, `"begun"`, 1), s, registerName)
		},
		"edit its end": func(t *testing.T, s string) {
			text := fileAt(t, s, registerName)
			i := strings.LastIndex(text, `"ended"`)
			put(t, text[:i]+`"begun"`+text[i+7:], s, registerName)
		},
		"another key": func(t *testing.T, s string) {
			put(t, "ringfence-seal-1 "+strings.Repeat("A", 43)+"=\n", s, "key")
		},
		"another key, and a session": func(t *testing.T, s string) {
			put(t, "ringfence-seal-1 "+strings.Repeat("A", 43)+"=\n", s, "key")
			w := Create(filepath.Join(filepath.Dir(s), "journal"), "zzzzzzzzzz")
			write(t, w, Record{})
			w.Close()
		},
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			dir := world(t)
			attack(t, sealDir(dir))
			if r := verify(t, dir, nil); !r.Bad() {
				t.Errorf("not found: %+v", r)
			} else {
				t.Logf("%+v", r)
			}
		})
	}
}

// TestVerifyRemoved: what was removed on purpose is not missed, and does not come
// back unseen.
func TestVerifyRemoved(t *testing.T) {
	dir := world(t)
	old := fileAt(t, dir, session+suffix)
	if err := Remove(dir, session); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, session+"*")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	if r := verify(t, dir, nil); r.Bad() || len(r.Journals) != 1 {
		t.Errorf("%+v", r)
	}
	if c := verify(t, dir, nil, session).of(session); c.State != Removed {
		t.Errorf("%+v", c)
	}
	put(t, old, dir, session+suffix)
	if r := verify(t, dir, nil); r.of(session).State != Bad {
		t.Errorf("it is back: %+v", r)
	}
}

func TestVerifyUnchained(t *testing.T) {
	dir := world(t)
	first := strings.Replace(sound, session, "zzzzzzzzzz", 1)
	put(t, first+"\n"+strings.Replace(first, `"seq":1`, `"seq":2`, 1)+"\n", dir, "zzzzzzzzzz"+suffix)
	if c := verify(t, dir, nil).of("zzzzzzzzzz"); c.State != Unchained || c.Records != 2 {
		t.Errorf("%+v", c)
	}
	if err := Append(dir, "zzzzzzzzzz", Record{}); err == nil {
		t.Error("appended to")
	}
	dir = filepath.Join(t.TempDir(), "none")
	if r := verify(t, dir, nil); r.Bad() || len(r.Journals) != 0 {
		t.Errorf("nothing at all: %+v", r)
	}
}

// killed leaves a journal as kill -9 does: signed up to some records, with more
// after it, and half of one.
func killed(t testing.TB) (w *Writer, dir string) {
	t.Helper()
	w, dir = create(t, session)
	for i := range 5 {
		write(t, w, Record{Event: Decision, Name: fmt.Sprint("host", i, ".test")})
		if i == 2 {
			w.timer.Stop()
			w.flushNow()
		}
	}
	w.timer.Stop()
	if _, err := unix.Write(w.file, []byte(`{"v":2,"seq":6,`)); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.closed = true
	w.letGo()
	w.mu.Unlock()
	return w, dir
}

func TestVerifyKilled(t *testing.T) {
	_, dir := killed(t)
	c := verify(t, dir, nil).of(session)
	if c.State != Unfinished || c.Records != 5 || c.Signed != 3 || c.Unsigned != 2 {
		t.Fatalf("%+v", c)
	}
	// What was signed cannot be changed under the cover of that.
	text := content(t, dir, session)
	lines := strings.SplitAfter(text, "\n")
	for name, changed := range map[string]string{
		"edit":            strings.Replace(text, "host1", "host9", 1),
		"edit the signed": strings.Replace(text, "host2", "host9", 1),
		"cut":             strings.Join(lines[:2], ""),
		"cut in a line":   text[:len(lines[0])+len(lines[1])+20],
		"forged tail":     strings.Join(lines[:3], "") + sound + "\n",
	} {
		put(t, changed, dir, session+suffix)
		if c := verify(t, dir, nil).of(session); c.State != Bad {
			t.Errorf("%s: %+v", name, c)
		}
	}
	put(t, text, dir, session+suffix)
	if ids, err := Settle(dir); err != nil || !slices.Equal(ids, []string{session}) {
		t.Errorf("settled %q, %v", ids, err)
	}
	if ids, err := Settle(dir); err != nil || len(ids) != 0 {
		t.Errorf("settled again: %q, %v", ids, err)
	}
	c = verify(t, dir, nil).of(session)
	if c.State != Sound || c.Records != 6 || c.Signed != 6 || c.Unsigned != 2 {
		t.Errorf("settled: %+v", c)
	}
	last, err := Last(dir, session, func(Record) bool { return true })
	if err != nil || last.Event != Lost || last.Count != 2 {
		t.Errorf("%+v, %v", last, err)
	}
}

func TestVerifyRunning(t *testing.T) {
	w, dir := create(t, session)
	write(t, w, Record{Event: Decision})
	if c := verify(t, dir, nil).of(session); c.State != Running || c.Records != 1 || c.Signed != 0 {
		t.Errorf("%+v", c)
	}
	w.timer.Stop()
	w.flushNow()
	if c := verify(t, dir, nil).of(session); c.State != Running || c.Signed != 1 {
		t.Errorf("%+v", c)
	}
	if ids, err := Settle(dir); err != nil || len(ids) != 0 {
		t.Errorf("settled %q, %v", ids, err)
	}
	if err := Append(dir, session, Record{}); err == nil {
		t.Error("two writers")
	}
	// It is cut while it is written: the next line does not follow.
	if err := unix.Ftruncate(w.file, 0); err != nil {
		t.Fatal(err)
	}
	write(t, w, Record{Event: Decision})
	if c := verify(t, dir, nil).of(session); c.State != Bad {
		t.Errorf("%+v", c)
	}
}

// TestEveryByte: not one byte of what is signed can be another.
func TestEveryByte(t *testing.T) {
	dir := world(t)
	paths := []string{filepath.Join(dir, session+suffix), filepath.Join(dir, partName(session, 2)), filepath.Join(dir, session+headSuffix),
		filepath.Join(sealDir(dir), registerName), filepath.Join(sealDir(dir), anchorName), filepath.Join(sealDir(dir), "key")}
	for _, path := range paths {
		text := fileAt(t, path)
		step := 1 + len(text)/60
		for i := 0; i < len(text); i += step {
			changed := []byte(text)
			changed[i] ^= 1
			put(t, string(changed), path)
			if r, err := Verify(dir, nil, nil); err == nil && !r.Bad() {
				t.Errorf("byte %d of %s, %q: not found", i, filepath.Base(path), text[i])
			}
		}
		put(t, text, path)
	}
	if r := verify(t, dir, nil); r.Bad() {
		t.Errorf("control: %+v", r)
	}
}

// TestVerifyAmidAppends: who verifies while others go on in a journal finds nothing
// that is not there; and a lock alone makes no forged line a running session's.
func TestVerifyAmidAppends(t *testing.T) {
	dir := world(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := Append(dir, session, Record{Kind: Work, Event: Applied}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 50 {
		if r := verify(t, dir, nil); r.Bad() {
			t.Errorf("%+v", r)
		}
	}
	close(stop)
	wg.Wait()
	f, err := os.OpenFile(filepath.Join(dir, other+suffix), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := file.Lock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	part := fileAt(t, dir, partName(other, 2))
	lines := strings.SplitAfter(part, "\n")
	last, err := decode([]byte(strings.TrimSuffix(lines[len(lines)-2], "\n")))
	if err != nil {
		t.Fatal(err)
	}
	forged := Record{V: Version, Seq: last.Seq + 1, Time: noon, Session: other, Prev: sha256.Sum256([]byte(strings.TrimSuffix(lines[len(lines)-2], "\n"))), Kind: Work, Event: Applied}
	put(t, part+string(forged.AppendJSON(nil))+"\n", dir, partName(other, 2))
	if c := verify(t, dir, nil).of(other); c.State != Bad {
		t.Errorf("forged under a lock: %+v", c)
	}
}

// TestKilledAppend: a person's command that was killed is settled like a session.
func TestKilledAppend(t *testing.T) {
	dir := world(t)
	w, err := Resume(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, Record{Kind: Work, Event: Asked})
	w.mu.Lock()
	w.timer.Stop()
	w.closed = true
	w.letGo()
	w.mu.Unlock()
	if c := verify(t, dir, nil).of(session); c.State != Unfinished || c.Signed != 7 || c.Unsigned != 1 {
		t.Errorf("%+v", c)
	}
	if ids, err := Settle(dir); err != nil || !slices.Equal(ids, []string{session}) {
		t.Errorf("%q, %v", ids, err)
	}
	if c := verify(t, dir, nil).of(session); c.State != Sound || c.Records != 9 || c.Unsigned != 1 {
		t.Errorf("%+v", c)
	}
}

func TestLast(t *testing.T) {
	w, dir := create(t, session)
	if _, err := Last(dir, session, func(Record) bool { return true }); err == nil {
		t.Error("a record of nothing")
	}
	for i := range 400 {
		write(t, w, Record{Event: Decision, Conn: uint64(i + 1), Name: strings.Repeat("n", i%300)})
		if i == 200 {
			fillPart(w)
		}
	}
	if _, err := w.calls.write(w.file, bytes.Repeat([]byte("x"), 3*maxLine)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []uint64{400, 399, 202, 201, 200, 2, 1} {
		seen := 0
		r, err := Last(dir, session, func(r Record) bool { seen++; return r.Conn == want })
		if err != nil || r.Conn != want || seen != int(401-want) {
			t.Errorf("%d: %d after %d, %v", want, r.Conn, seen, err)
		}
	}
	if _, err := Last(dir, session, func(Record) bool { return false }); err == nil {
		t.Error("a record that nobody wrote")
	}
}

// TestManySessions: sessions that begin and end at once share one register, and all
// of them verify.
func TestManySessions(t *testing.T) {
	const sessions = 50
	dir := filepath.Join(t.TempDir(), "journal")
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			w := Create(dir, fmt.Sprintf("%010d", i))
			for j := range 20 {
				if err := w.Write(Record{Event: Decision, Conn: uint64(j + 1)}); err != nil {
					t.Error(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r := verify(t, dir, nil)
	if r.Bad() || len(r.Journals) != sessions || !strings.HasPrefix(r.Register, fmt.Sprint(2*sessions, ":")) {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Journals {
		if c.State != Sound || c.Records != 20 {
			t.Errorf("%+v", c)
		}
	}
}

// TestNewKey: who takes the key away makes a finding for good, and stops nobody.
func TestNewKey(t *testing.T) {
	dir := world(t)
	if err := os.Remove(filepath.Join(sealDir(dir), "key")); err != nil {
		t.Fatal(err)
	}
	w := Create(dir, "zzzzzzzzzz")
	write(t, w, Record{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := verify(t, dir, nil)
	if c := r.of("zzzzzzzzzz"); c.State != Sound {
		t.Errorf("the new session: %+v", c)
	}
	if len(r.Findings) != 1 || !strings.Contains(r.Findings[0], "not what this host signed") || r.of(session).State != Bad {
		t.Errorf("%+v", r)
	}
}
