package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	first  = "11111111-2222-3333-4444-555555555555.jsonl"
	second = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl"
)

// room is a project with a directory of conversations on either side.
type room struct {
	*testing.T
	Share
	inside string
}

func newRoom(t *testing.T) *room {
	dir := t.TempDir()
	r := &room{T: t, inside: filepath.Join(dir, "inside")}
	r.Share = Share{Host: filepath.Join(dir, "host/projects/-w"), Workspaces: []string{"/w"}, Memory: filepath.Join(dir, "state/history.json"), Session: "s1",
		Trusted: func(string) error { return nil }, Inside: func() (*os.File, error) { return os.Open(r.inside) }}
	for _, d := range []string{r.Host, r.inside, filepath.Dir(r.Memory)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func said(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, `{"type":"user","cwd":"/w","message":%q}`+"\n", text)
	}
	return b.String()
}

func (r *room) put(dir, name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *room) has(dir, name, want string) {
	r.Helper()
	got, err := os.ReadFile(filepath.Join(dir, name))
	if want == "" && errors.Is(err, os.ErrNotExist) {
		return
	}
	if string(got) != want {
		r.Errorf("%s holds %q, want %q (%v)", filepath.Join(dir, name), got, want, err)
	}
}

func (r *room) in(copied, left int) Report  { return r.moved(r.Share.In, copied, left) }
func (r *room) out(copied, left int) Report { return r.moved(r.Share.Out, copied, left) }

func (r *room) moved(how func() (Report, error), copied, left int) Report {
	r.Helper()
	got, err := how()
	if err != nil || len(got.Copied) != copied || len(got.Left) != left {
		r.Errorf("%+v, %v: want %d copied and %d left", got, err, copied, left)
	}
	return got
}

func TestAConversationGoesOnOnBothSides(t *testing.T) {
	r := newRoom(t)
	r.put(r.Host, first, said("outside"))
	r.in(1, 0)
	r.has(r.inside, first, said("outside"))
	r.in(0, 0)
	r.put(r.inside, first, said("outside", "inside"))
	r.put(r.inside, second, said("begun inside"))
	r.out(2, 0)
	r.has(r.Host, first, said("outside", "inside"))
	r.has(r.Host, second, said("begun inside"))
	r.put(r.Host, second, said("begun inside", "and outside"))
	r.in(1, 0)
	r.has(r.inside, second, said("begun inside", "and outside"))
	r.out(0, 0)
}

// What the two said differently stays as it is on both sides.
func TestNothingIsOverwritten(t *testing.T) {
	r := newRoom(t)
	r.put(r.Host, first, said("one"))
	r.in(1, 0)
	r.put(r.Host, first, said("one", "host"))
	r.put(r.inside, first, said("one", "agent"))
	r.out(0, 1)
	r.in(0, 0) // it was said
	r.has(r.Host, first, said("one", "host"))
	r.has(r.inside, first, said("one", "agent"))
	r.put(r.inside, first, said("shorter"))
	r.out(0, 1)
	r.has(r.Host, first, said("one", "host"))
}

// Half a line is not copied: another session of the project may be writing it.
func TestWholeLines(t *testing.T) {
	r := newRoom(t)
	r.put(r.inside, first, said("one")+`{"cwd":"/w","half`)
	r.out(1, 0)
	r.has(r.Host, first, said("one"))
	r.put(r.inside, first, said("one", "two"))
	r.out(1, 0)
	r.has(r.Host, first, said("one", "two"))
}

// What the user removed does not come back, unless it went on.
func TestRemovedStaysRemoved(t *testing.T) {
	r := newRoom(t)
	r.put(r.inside, first, said("one"))
	r.out(1, 0)
	if err := os.Remove(filepath.Join(r.Host, first)); err != nil {
		t.Fatal(err)
	}
	r.out(0, 0)
	r.has(r.Host, first, "")
	r.put(r.inside, first, said("one", "two"))
	r.out(1, 0)
}

// Only conversations of this project pass, in either direction: two directories may share a
// name.
func TestOfThisProjectAlone(t *testing.T) {
	r := newRoom(t)
	r.put(r.Host, first, `{"type":"summary"}`+"\n"+`{"cwd":"/w/sub"}`+"\n")
	r.put(r.Host, second, `{"cwd":"/w-other"}`+"\n"+`{"cwd":"/w"}`+"\n")
	got := r.in(1, 1)
	if got.Left[0].Name != second {
		t.Errorf("%+v", got)
	}
	r.has(r.inside, second, "")
	r.put(r.inside, "bbbbbbbb-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl", said("x")+`{"type":"user","cwd":"/etc"}`+"\n")
	r.put(r.inside, "cccccccc-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl", `{"type":"user","cwd":"/w/../etc"}`+"\n")
	r.put(r.inside, "dddddddd-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl", `{"type":"user","cwd":7}`+"\n")
	r.put(r.inside, "eeeeeeee-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl", `{"type":"user","message":"of nowhere"}`+"\n")
	r.put(r.inside, "ffffffff-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl", `{"type":"user","cwd":"/w","cwd":"/etc"}`+"\n")
	r.put(r.inside, "0fffffff-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl", "no JSON\n")
	r.put(r.inside, "1fffffff-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl", said("x")+"\n")
	r.out(0, 7)
	if names, _ := os.ReadDir(r.Host); len(names) != 2 {
		t.Errorf("the host has %v", names)
	}
}

// What is no plain file of a conversation is not even looked at.
func TestShape(t *testing.T) {
	r := newRoom(t)
	victim := filepath.Join(t.TempDir(), "victim")
	r.put(filepath.Dir(victim), "victim", said("victim"))
	for _, name := range []string{"x.jsonl", "../" + first[3:], "settings.json", strings.ToUpper(second), first + "x", "11111111-2222-3333-4444-55555555555g.jsonl"} {
		if !strings.Contains(name, "/") {
			r.put(r.inside, name, said("x"))
		}
		if transcript(name) {
			t.Errorf("%q is a transcript", name)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(victim, filepath.Join(r.inside, first)))
	must(os.Mkdir(filepath.Join(r.inside, second), 0o700))
	must(os.Link(victim, filepath.Join(r.inside, "22222222-2222-3333-4444-555555555555.jsonl")))
	r.out(0, 3)
	if names, _ := os.ReadDir(r.Host); len(names) != 0 {
		t.Errorf("the host has %v", names)
	}
	// And on the way in: what an agent left in the place is not written through.
	must(os.RemoveAll(filepath.Join(r.inside, second)))
	must(os.Symlink(victim, filepath.Join(r.inside, second)))
	r.put(r.Host, first, said("victim", "more"))
	r.put(r.Host, second, said("victim", "more"))
	r.put(r.Host, "22222222-2222-3333-4444-555555555555.jsonl", said("victim", "more"))
	r.in(0, 3)
	r.has(filepath.Dir(victim), "victim", said("victim"))
}

// A time that the agent chose does not make its conversation the latest of all days.
func TestNoDateOfTheFuture(t *testing.T) {
	r := newRoom(t)
	past, future := time.Unix(1e9, 0), time.Now().AddDate(70, 0, 0)
	for name, when := range map[string]time.Time{first: past, second: future} {
		r.put(r.inside, name, said("x"))
		if err := os.Chtimes(filepath.Join(r.inside, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	r.out(2, 0)
	for name, ok := range map[string]func(time.Time) bool{first: past.Equal, second: func(at time.Time) bool { return !at.After(time.Now()) }} {
		if st, err := os.Stat(filepath.Join(r.Host, name)); err != nil || !ok(st.ModTime()) {
			t.Errorf("%s: %v, %v", name, st.ModTime(), err)
		}
	}
}

// What is read at once is bounded, whatever is refused of it, and what waited comes later.
func TestTooMuchAtOnce(t *testing.T) {
	r := newRoom(t)
	was := maxTotal
	t.Cleanup(func() { maxTotal = was })
	bad := said("x") + `{"type":"agent-setting"}` + "\n"
	maxTotal = len(bad)
	r.put(r.inside, first, bad)
	r.put(r.inside, second, said("waits"))
	old := time.Unix(1e9, 0)
	if err := os.Chtimes(filepath.Join(r.inside, second), old, old); err != nil {
		t.Fatal(err)
	}
	r.out(0, 2)
	r.has(r.Host, second, "")
	r.out(1, 0)
	r.has(r.Host, second, said("waits"))
}

// The memory does not grow with names that are gone.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	r := newRoom(t)
	r.put(r.inside, first, "no JSON\n")
	r.put(r.inside, second, said("x"))
	r.out(1, 1)
	if err := os.Remove(filepath.Join(r.inside, first)); err != nil {
		t.Fatal(err)
	}
	r.out(0, 0)
	text, err := os.ReadFile(r.Memory)
	if err != nil || strings.Contains(string(text), first) || !strings.Contains(string(text), second) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestTakeBack(t *testing.T) {
	r := newRoom(t)
	r.put(r.Host, first, said("outside"))
	r.in(1, 0)
	r.put(r.inside, first, said("outside", "inside"))
	r.put(r.inside, second, said("new"))
	third := "33333333-2222-3333-4444-555555555555.jsonl"
	r.put(r.inside, third, said("third"))
	r.out(3, 0)
	r.put(r.Host, third, said("third", "changed since"))
	got, err := TakeBack(r.Memory, "s1")
	if err != nil || len(got.Copied) != 2 || len(got.Left) != 1 || filepath.Base(got.Left[0].Name) != third {
		t.Errorf("%+v, %v", got, err)
	}
	r.has(r.Host, first, said("outside"))
	r.has(r.Host, second, "")
	r.has(r.Host, third, said("third", "changed since"))
	r.has(r.inside, second, said("new"))
	if again, err := TakeBack(r.Memory, "s1"); err != nil || len(again.Copied) != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	r.out(0, 0)
	r.has(r.Host, second, "")
}

func TestUntrustedHost(t *testing.T) {
	r := newRoom(t)
	r.Trusted = func(string) error { return errors.New("an agent can write it") }
	r.put(r.inside, first, said("x"))
	if _, err := r.Out(); err == nil {
		t.Error("it is written where an agent can write")
	}
}

// Nothing is made on the host for nothing, and a damaged memory stops the copying.
func TestEmptyAndDamaged(t *testing.T) {
	r := newRoom(t)
	if err := os.RemoveAll(filepath.Dir(r.Host)); err != nil {
		t.Fatal(err)
	}
	r.in(0, 0)
	r.out(0, 0)
	if _, err := os.Lstat(r.Host); err == nil {
		t.Error("a directory was made for nothing")
	}
	r.put(r.inside, first, said("x"))
	r.put(filepath.Dir(r.Memory), "history.json", "{")
	if _, err := r.Out(); err == nil {
		t.Error("a damaged memory is taken for an empty one")
	}
}

func TestSlug(t *testing.T) {
	for dir, want := range map[string]string{"/home/a b/x.y_z": "-home-a-b-x-y-z", "/é/𝕏": "----" + "-", "/" + strings.Repeat("x", 300): ""} {
		if got := Slug(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}

// FuzzTranscript: what passes is whole lines of objects, and every directory in it is the
// project's, by another reader too.
func FuzzTranscript(f *testing.F) {
	for _, s := range []string{said("x"), said("x") + `{"cwd":"/etc"}`, `{"cwd":"/w/../etc"}` + "\n", `{"CWD":"/etc","cwd":"/w"}` + "\n", `{"cwd":"/w"}{"cwd":"/etc"}` + "\n", "[]\n", "{\n}\n", "\x00\n"} {
		f.Add([]byte(s))
	}
	for _, line := range append(slices.Clone(forged), honest...) {
		f.Add([]byte(said("x") + line + "\n"))
	}
	s := Share{Workspaces: []string{"/w"}}
	f.Fuzz(func(t *testing.T, text []byte) {
		if s.ofAgent(first, text, 0) != nil {
			return
		}
		lines := strings.SplitAfter(string(text), "\n")
		if slices.ContainsFunc(lines, func(l string) bool { return l != "" && l[0] != '{' }) || !strings.Contains(string(text), "cwd") && !strings.Contains(string(text), `\u`) {
			t.Errorf("%q passes", text)
		}
	})
}
