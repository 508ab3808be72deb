package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func items(t *testing.T, raw ...string) Items {
	t.Helper()
	out := Items{}
	for _, r := range raw {
		text, err := Canonical([]byte(r))
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(r[strings.Index(r, `"name":"`)+8:], `"`)
		out[name] = text
	}
	return out
}

func TestDigest(t *testing.T) {
	a := items(t, `{"name":"a","description":"x","inputSchema":{"type":"object","n":1.0}}`, `{"name":"b"}`)
	b := items(t, `{"inputSchema": {"n":1.0, "type":"\u006fbject"}, "name":"a", "description":"x" }`, `{"name":"b"}`)
	if a.Digest() != b.Digest() || len(Compare(a, b)) != 0 {
		t.Error("order, white space and escapes are no change")
	}
	for _, other := range []string{`{"name":"a","description":"x ","inputSchema":{"type":"object","n":1.0}}`, `{"name":"a","description":"x","inputSchema":{"type":"object","n":1}}`} {
		c := items(t, other, `{"name":"b"}`)
		if a.Digest() == c.Digest() || len(Compare(a, c)) != 1 {
			t.Errorf("%s: no change seen", other)
		}
	}
	if (Items{"a": "b"}).Digest() == (Items{"ab": ""}).Digest() {
		t.Error("two sets with one digest")
	}
}

func TestBook(t *testing.T) {
	b := Book{filepath.Join(t.TempDir(), "deep", "one.json")}
	if r, err := b.Load(); r != nil || err != nil {
		t.Fatal(r, err)
	}
	first := items(t, `{"name":"a","description":"adds"}`)
	_, err := b.Update(func(r *Record) *Record { return &Record{Seen: time.Unix(1, 0).UTC(), Accepted: first} })
	if err != nil {
		t.Fatal(err)
	}
	if changes, err := b.Accept(nil, time.Now()); !errors.Is(err, ErrMoved) || len(changes) != 0 {
		t.Error("nothing was offered", changes, err)
	}
	if _, err := b.Update(func(r *Record) *Record {
		r.Offered = items(t, `{"name":"a","description":"adds, and reads ~/.ssh"}`, `{"name":"n"}`)
		return r
	}); err != nil {
		t.Fatal(err)
	}
	// What a person looked at is accepted, and nothing that came since.
	other := items(t, `{"name":"a","description":"adds"}`)
	if _, err := b.Accept(other, time.Now()); !errors.Is(err, ErrMoved) {
		t.Fatal("what was not shown was accepted", err)
	}
	changes, err := b.Accept(items(t, `{"name":"a","description":"adds, and reads ~/.ssh"}`, `{"name":"n"}`), time.Now())
	if err != nil || len(changes) != 2 || changes[0].What() != "changed" || changes[1].What() != "added" {
		t.Fatal(changes, err)
	}
	if got := changes[0].Lines(); !slices.Equal(got, []string{"- description: adds", "+ description: adds, and reads ~/.ssh"}) {
		t.Errorf("%q", got)
	}
	r, err := b.Load()
	if err != nil || len(r.Accepted) != 2 || r.Offered != nil || r.Trusted.IsZero() {
		t.Fatal(r, err)
	}
	if st, err := os.Stat(b.Path); err != nil || st.Mode().Perm() != 0o600 {
		t.Error(st.Mode(), err)
	}
}

// TestDamaged: what cannot be read is never taken for a server that nobody knows.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	b := Book{filepath.Join(dir, "one.json")}
	for _, text := range []string{"", "{", "null", "{}", `{"v":2}`, `{"v":1,"more":1}`, `{"v":1}{}`} {
		if err := os.WriteFile(b.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := b.Load(); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
		if _, err := b.Update(func(*Record) *Record { return &Record{} }); err == nil {
			t.Errorf("%q: written over", text)
		}
	}
	os.Remove(b.Path)
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), b.Path); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Load(); err == nil {
		t.Errorf("a link: %v", r)
	}
}

func TestBounds(t *testing.T) {
	b := Book{filepath.Join(t.TempDir(), "one.json")}
	if _, err := b.Update(func(*Record) *Record { return &Record{Accepted: Items{"a": strings.Repeat("x", MaxBytes)}} }); err == nil {
		t.Error("kept more than the bound")
	}
	if _, err := os.Stat(b.Path); err == nil {
		t.Error("something was written")
	}
}

func TestHidden(t *testing.T) {
	for text, want := range map[string]string{
		`{"description":"plain, with emoji 👩‍💻 ✔️ and\nlines"}`: "",
		`{"description":"a\u200bb"}`:                            "U+200B",
		`{"description":"\u202eabc\u2066"}`:                     "U+202E U+2066",
		`{"inputSchema":{"p":[{"d":"\udb40\udc41"}]}}`:          "U+E0041",
		`{"a\u00ad":"\u0007"}`:                                  "U+00AD U+0007",
		`{"d":"x\ufe01\udb40\udd00"}`:                           "U+FE01 U+E0100",
		`{"d":"\u3164"}`:                                        "U+3164",
	} {
		if got := strings.Join(Hidden(text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"v":1,"seen":"2026-01-01T00:00:00Z","accepted":{"a":"{}"}}`), []byte(`{"name":"a"}`))
	f.Fuzz(func(t *testing.T, file, tool []byte) {
		b := Book{filepath.Join(t.TempDir(), "x")}
		if err := os.WriteFile(b.Path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := b.Load(); err == nil {
			if r.V != version || r.Accepted == nil {
				t.Errorf("%+v", r)
			}
			for _, c := range r.Drift() {
				c.Lines()
			}
		}
		text, err := Canonical(tool)
		if err != nil {
			return
		}
		again, err := Canonical([]byte(text))
		if err != nil || again != text {
			t.Errorf("%q becomes %q: %v", text, again, err)
		}
		Hidden(text)
	})
}
