package journal

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// Attacks by who can write everything but does not have the key.

const later = "zzzzzzzzzz"

// another session begins and ends.
func another(t testing.TB, dir, id string) {
	t.Helper()
	w := Create(dir, id)
	write(t, w, Record{Kind: Session, Event: Begin})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// downgrade rewrites the journals in dir as version 1, and takes the heads away.
func downgrade(t testing.TB, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, headSuffix) {
			remove(t, path)
			continue
		}
		var text []byte
		for line := range strings.Lines(fileAt(t, path)) {
			r, err := decode([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			r.V, r.Prev = unchained, Hash{}
			text = append(r.AppendJSON(text), '\n')
		}
		put(t, string(text), path)
	}
}

func remove(t testing.TB, path ...string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(path...)); err != nil {
		t.Fatal(err)
	}
}

// TestCoverUp: what was done to the register is still found after other sessions have
// written to it.
func TestCoverUp(t *testing.T) {
	attacks := map[string]func(t *testing.T, dir, seals string){
		"downgrade": func(t *testing.T, dir, seals string) {
			downgrade(t, dir)
			remove(t, seals, registerName)
			remove(t, seals, anchorName)
		},
		"downgrade, and take the key": func(t *testing.T, dir, seals string) { downgrade(t, dir); remove(t, seals) },
		"all but the key": func(t *testing.T, dir, seals string) {
			wipe(t, dir)
			remove(t, seals, registerName)
			remove(t, seals, anchorName)
		},
		"all but the anchor": func(t *testing.T, dir, seals string) { wipe(t, dir); remove(t, seals, registerName) },
		"the anchor": func(t *testing.T, dir, seals string) {
			deleteAll(t, dir, other)
			cutRegister(t, seals, 2)
			remove(t, seals, anchorName)
		},
		"an empty anchor": func(t *testing.T, dir, seals string) {
			deleteAll(t, dir, other)
			cutRegister(t, seals, 2)
			put(t, "", seals, anchorName)
		},
		"the newest session":     func(t *testing.T, dir, seals string) { deleteAll(t, dir, other); cutRegister(t, seals, 2) },
		"the end of the newest":  func(t *testing.T, dir, seals string) { cutRegister(t, seals, 1) },
		"the newline at the end": func(t *testing.T, dir, seals string) { trim(t, seals, registerName) },
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			dir := world(t)
			attack(t, dir, sealDir(dir))
			if r := verify(t, dir, nil); !r.Bad() {
				t.Errorf("not found: %+v", r)
			}
			another(t, dir, later)
			another(t, dir, "yyyyyyyyyy")
			r := verify(t, dir, nil)
			if !r.Bad() {
				t.Errorf("covered up: %+v", r)
			}
			if r.of(later).State != Sound {
				t.Errorf("the next session: %+v", r.of(later))
			}
			t.Log(r.Findings)
		})
	}
}

func wipe(t testing.TB, dir string) { deleteAll(t, dir, session); deleteAll(t, dir, other) }

func cutRegister(t testing.TB, seals string, n int) {
	t.Helper()
	lines := strings.SplitAfter(fileAt(t, seals, registerName), "\n")
	put(t, strings.Join(lines[:len(lines)-1-n], ""), seals, registerName)
}

func trim(t testing.TB, path ...string) {
	t.Helper()
	put(t, strings.TrimSuffix(fileAt(t, path...), "\n"), path...)
}

// TestAnchorBehind: who is killed between the register and its anchor is no finding,
// nor is an anchor that a crash left some entries behind.
func TestAnchorBehind(t *testing.T) {
	for n := range 4 {
		dir := world(t)
		var anchors []string
		for i := range 4 {
			another(t, dir, fmt.Sprintf("yyyyyyyyy%d", i))
			anchors = append(anchors, fileAt(t, sealDir(dir), anchorName))
		}
		put(t, anchors[n], sealDir(dir), anchorName)
		another(t, dir, later)
		if r := verify(t, dir, nil); r.Bad() {
			t.Errorf("%d sessions behind: %+v", 3-n, r)
		}
	}
}

// heads makes a journal that has ended, and returns every head that it ever had.
func heads(t testing.TB) (dir string, heads []string) {
	t.Helper()
	w, dir := create(t, session)
	keep := func() { heads = append(heads, fileAt(t, dir, session+headSuffix)) }
	for i := range 6 {
		write(t, w, Record{Event: Decision, Name: fmt.Sprint("host", i, ".test"), Verdict: Deny})
		if i == 2 || i == 5 {
			w.timer.Stop()
			w.flushNow()
		}
		keep()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, heads
}

// forge appends records to the journal of the session, chained as an honest writer
// would.
func forge(t testing.TB, dir string, records ...Record) {
	t.Helper()
	text := strings.TrimSuffix(fileAt(t, dir, session+suffix), "\n")
	last := text[strings.LastIndex(text, "\n")+1:]
	for _, r := range records {
		before, err := decode([]byte(last))
		if err != nil {
			t.Fatal(err)
		}
		r.V, r.Seq, r.Time, r.Session, r.Prev = Version, before.Seq+1, noon, session, sha256.Sum256([]byte(last))
		if r.Kind == "" {
			r.Kind = Net
		}
		last = string(r.AppendJSON(nil))
		text += "\n" + last
	}
	put(t, text+"\n", dir, session+suffix)
}

// TestOlderHead: a head of the same session from before its end brings nothing back,
// and takes nothing away, also when somebody goes on in the journal afterwards.
func TestOlderHead(t *testing.T) {
	harmless := Record{Event: Decision, Name: "harmless.test", Verdict: Allow}
	attacks := map[string]struct {
		lines int // that stay
		add   int
	}{"a longer one": {6, 2}, "a shorter one": {3, 0}, "another of the same length": {3, 3}, "another that is longer": {3, 5}, "empty": {0, 0}}
	for name, a := range attacks {
		dir, heads := heads(t)
		for i, head := range heads {
			put(t, head, dir, session+headSuffix)
			lines := strings.SplitAfter(fileAt(t, dir, session+suffix), "\n")
			whole := strings.Join(lines, "")
			put(t, strings.Join(lines[:a.lines], ""), dir, session+suffix)
			if a.add > 0 {
				forge(t, dir, slices.Repeat([]Record{harmless}, a.add)...)
			}
			if c := verify(t, dir, nil).of(session); c.State != Bad {
				t.Errorf("%s under head %d: %+v", name, i, c)
			}
			put(t, whole, dir, session+suffix)
		}
		put(t, heads[2], dir, session+headSuffix)
		relines(t, dir, func(l []string) []string { return l[:max(a.lines, 3)] })
		if a.add > 0 {
			forge(t, dir, slices.Repeat([]Record{harmless}, a.add)...)
		}
		err := Append(dir, session, Record{Kind: Work, Event: Applied})
		if _, also := Settle(dir); also != nil {
			err = also
		}
		if c := verify(t, dir, nil).of(session); c.State != Bad {
			t.Errorf("%s, and an append (%v): %+v", name, err, c)
		}
	}
}

// TestReopenKilled: a person's command that was killed at any moment of its beginning
// leaves no finding.
func TestReopenKilled(t *testing.T) {
	dir, _ := heads(t)
	ended := fileAt(t, dir, session+headSuffix)
	w, err := Resume(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	w.letGo()
	if c := verify(t, dir, nil).of(session); c.State == Bad {
		t.Errorf("killed after the head: %+v", c)
	}
	put(t, ended, dir, session+headSuffix)
	if c := verify(t, dir, nil).of(session); c.State == Bad {
		t.Errorf("killed before the head: %+v", c)
	}
	if err := Append(dir, session, Record{Kind: Work, Event: Applied}); err != nil {
		t.Error(err)
	}
	if c := verify(t, dir, nil).of(session); c.State != Sound || c.Records != 7 {
		t.Errorf("and once more: %+v", c)
	}
}

// TestLockedEnd: a lock excuses nothing that follows an end.
func TestLockedEnd(t *testing.T) {
	for name, more := range map[string]string{"nothing": "", "half a line": `{"v":2,"seq":7,`, "zeroes": strings.Repeat("\x00", 100)} {
		dir, _ := heads(t)
		path := filepath.Join(dir, session+suffix)
		put(t, fileAt(t, path)+more, path)
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Lock(int(f.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		want := Bad
		if more == "" {
			want = Sound
		}
		if c := verify(t, dir, nil).of(session); c.State != want {
			t.Errorf("%s: %+v", name, c)
		}
		f.Close()
	}
}

// TestMovedBetweenParts: records stand in the part that the head says.
func TestMovedBetweenParts(t *testing.T) {
	dir := world(t)
	one, two := fileAt(t, dir, session+suffix), fileAt(t, dir, partName(session, 2))
	put(t, one+two, dir, session+suffix)
	remove(t, dir, partName(session, 2))
	if c := verify(t, dir, nil).of(session); c.State != Bad {
		t.Errorf("%+v", c)
	}
	put(t, one, dir, session+suffix)
	put(t, two, dir, partName(session, 2))
	put(t, "", dir, partName(session, 3))
	if c := verify(t, dir, nil).of(session); c.State != Bad {
		t.Errorf("a part that nobody wrote: %+v", c)
	}
}

// TestKilledAtTheStart: at whatever moment of its start a session is killed, that is
// no finding, and hides none.
func TestKilledAtTheStart(t *testing.T) {
	dir := world(t)
	put(t, "", dir, later+suffix)
	put(t, "", dir, later+headSuffix)
	if c := verify(t, dir, nil).of(later); c.State != Empty {
		t.Errorf("%+v", c)
	}
	put(t, "", dir, session+suffix)
	put(t, "", dir, session+headSuffix)
	if c := verify(t, dir, nil).of(session); c.State != Bad {
		t.Errorf("emptied: %+v", c)
	}
	put(t, fileAt(t, dir, other+suffix), dir, later+suffix)
	if c := verify(t, dir, nil).of(later); c.State != Bad {
		t.Errorf("records without a head: %+v", c)
	}
}

// TestUnsignedStaysTold: how many records nobody vouched for cannot be talked away by
// those records.
func TestUnsignedStaysTold(t *testing.T) {
	_, dir := killed(t)
	text := content(t, dir, session)
	put(t, text[:strings.LastIndex(text, "\n")+1], dir, session+suffix)
	huge := Record{Kind: Session, Event: Lost, Count: 1<<63 - 1}
	forge(t, dir, huge, huge) // with those that follow, 2^64
	if ids, err := Settle(dir); err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	if c := verify(t, dir, nil).of(session); c.State != Sound || c.Unsigned < 4 || c.Unsigned > 20 {
		t.Errorf("%+v", c)
	}
}

// TestSweepTrustsTheRegister: how old a journal is says the register, and not a file
// that others can touch; and what was put there pushes nothing out.
func TestSweepTrustsTheRegister(t *testing.T) {
	dir := world(t)
	now := time.Now()
	for _, name := range []string{session + suffix, partName(session, 2), session + headSuffix} {
		if err := os.Chtimes(filepath.Join(dir, name), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err := Sweep(dir, now, Retention{Age: 30 * day}); err != nil || len(got) != 0 {
		t.Errorf("touched: %v, %v", got, err)
	}
	put(t, strings.Replace(sound, session, later, 1)+"\n"+string(bytes.Repeat([]byte("x"), 1<<20)), dir, later+suffix)
	if got, _, err := Sweep(dir, now, Retention{Age: 30 * day, Size: 1 << 20}); err != nil || slices.Contains(got, session) || slices.Contains(got, other) {
		t.Errorf("pushed out by size: %v, %v", got, err)
	}
	if got, _, err := Sweep(dir, now.Add(40*day), Retention{Age: 30 * day, Keep: 2}); err != nil || !slices.Equal(got, []string{later}) {
		t.Errorf("pushed out by number: %v, %v", got, err)
	}
	if got, _, err := Sweep(dir, now.Add(40*day), Retention{Age: 30 * day}); err != nil || len(got) != 3 {
		t.Errorf("control: %v, %v", got, err)
	}
}

// TestSettleAll: a session that was killed after hundreds of others began is settled
// by who looks at the whole register.
func TestSettleAll(t *testing.T) {
	_, dir := killed(t)
	for i := range 300 {
		another(t, dir, fmt.Sprintf("yyyyyyy%03d", i))
	}
	if ids, err := Settle(dir); err != nil || len(ids) != 0 {
		t.Errorf("control: %q, %v", ids, err)
	}
	if ids, err := SettleAll(dir); err != nil || !slices.Equal(ids, []string{session}) {
		t.Errorf("%q, %v", ids, err)
	}
}

// TestSweepKeepsEvidence: what was tampered with does not go with the rest.
func TestSweepKeepsEvidence(t *testing.T) {
	dir := world(t)
	relines(t, dir, func(l []string) []string { return l[:1] })
	later := time.Now().Add(time.Hour)
	if stale, bad, err := Sweep(dir, later, Retention{}); err != nil || !slices.Equal(stale, []string{other}) || !slices.Equal(bad, []string{session}) {
		t.Errorf("%q, %q, %v", stale, bad, err)
	}
	if stale, bad, err := Sweep(dir, later, Retention{Bad: true}); err != nil || len(stale) != 2 || len(bad) != 0 {
		t.Errorf("by a person's word: %q, %q, %v", stale, bad, err)
	}
	cutRegister(t, sealDir(dir), 1)
	if stale, _, err := Sweep(dir, later, Retention{Bad: true}); err == nil || len(stale) != 0 {
		t.Errorf("by a register that was cut: %q, %v", stale, err)
	}
}
