package learn

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var monday = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func TestBook(t *testing.T) {
	state := t.TempDir()
	b := Open(state, "/home/u/pro\xffject")
	seen := Seen{Paths: []Path{{Path: "/home/u/a", Open: true}}, Hosts: []Host{{Name: "a.example.com", Port: 443}}, Env: []Variable{{Name: "A_B", File: "/w/f"}}}
	if _, n, err := b.Read(); err != nil || n != 0 {
		t.Fatal(n, err)
	}
	for range 2 {
		if _, _, err := b.Add(seen, monday); err != nil {
			t.Fatal(err)
		}
	}
	seen.Paths = append(seen.Paths, Path{Path: "/home/u/b", Write: true})
	seen.Hosts = nil
	if _, _, err := b.Add(seen, monday); err != nil {
		t.Fatal(err)
	}
	got, n, err := b.Read()
	if err != nil || n != 3 {
		t.Fatal(n, err)
	}
	want := "[{/home/u/a false true false 3 2026-01-05} {/home/u/b true false false 1 2026-01-05}] [a.example.com:443] [{A_B /w/f 3 2026-01-05}]"
	if text := fmt.Sprint(got.Paths, got.Hosts, got.Env); text != want {
		t.Error(text)
	}
	if got.Hosts[0].Count != 2 {
		t.Error(got.Hosts[0].Count)
	}
	if _, n, err := Open(state, "/home/u/other").Read(); err != nil || n != 0 {
		t.Error("another project has it too", n, err)
	}
	if err := b.Forget(); err != nil {
		t.Fatal(err)
	}
	if _, n, _ := b.Read(); n != 0 {
		t.Error("it is still known")
	}
}

// TestBookIsBounded: what was seen most often stays.
func TestBookIsBounded(t *testing.T) {
	b := Open(t.TempDir(), "/p")
	often := Seen{Paths: []Path{{Path: "/zz/often"}}}
	for range 2 {
		if _, _, err := b.Add(often, monday); err != nil {
			t.Fatal(err)
		}
	}
	var many Seen
	for i := range 5 * maxPaths {
		many.Paths = append(many.Paths, Path{Path: fmt.Sprintf("/a/%s%d", strings.Repeat("\u00fc", 400), i)})
		many.Hosts = append(many.Hosts, Host{Name: fmt.Sprintf("n%d.example.com", i), Port: 443})
		many.Env = append(many.Env, Variable{Name: fmt.Sprintf("N%d", i), File: "/p/f"})
	}
	got, _, err := b.Add(many, monday)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Paths) != maxPaths || len(got.Hosts) != maxHosts || len(got.Env) != maxEnv || got.Paths[maxPaths-1].Path != "/zz/often" {
		t.Error(len(got.Paths), len(got.Hosts), len(got.Env))
	}
	if _, _, err := b.Read(); err != nil {
		t.Error("what is written cannot be read:", err)
	}
}

func TestBookRefusesWhatItDidNotWrite(t *testing.T) {
	b := Open(t.TempDir(), "/p")
	if _, _, err := b.Add(Seen{Paths: []Path{{Path: "/a"}}}, monday); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"empty":        {},
		"cut":          good[:len(good)-3],
		"another root": bytes.Replace(good, []byte("/p"), []byte("/q"), 1),
		"relative":     bytes.Replace(good, []byte(`"/a"`), []byte(`"a"`), 1),
		"climbing":     bytes.Replace(good, []byte(`"/a"`), []byte(`"/../a"`), 1),
		"control":      bytes.Replace(good, []byte(`"/a"`), []byte(`"/\u001b"`), 1),
		"version":      bytes.Replace(good, []byte(`"version": 1`), []byte(`"version": 2`), 1),
		"more":         append(bytes.Clone(good), '{', '}'),
		"unknown key":  bytes.Replace(good, []byte(`"sessions"`), []byte(`"sesions"`), 1),
	} {
		if err := os.WriteFile(b.path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Read(); err == nil {
			t.Errorf("%s: it was taken", name)
		}
		if _, _, err := b.Add(Seen{}, monday); err == nil {
			t.Errorf("%s: it was written over", name)
		}
	}
	if err := os.WriteFile(b.path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Read(); err == nil {
		t.Error("others could have written it")
	}
}

// TestBooksAreForgotten: what nobody learnt from for long goes away by itself.
func TestBooksAreForgotten(t *testing.T) {
	state := t.TempDir()
	old := Open(state, "/old")
	if _, _, err := old.Add(Seen{}, monday); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old.path, monday, monday); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(state, "/new").Add(Seen{}, monday.Add(keepFor+time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old.path); err == nil {
		t.Error("it is still there")
	}
}

// FuzzDecode: what is taken is written the same way again, and is within its bounds.
func FuzzDecode(f *testing.F) {
	good, err := encode(page{Version: 1, Root: `"/p"`, Sessions: 1, Seen: join(Seen{}, Seen{Paths: []Path{{Path: "/a"}}, Hosts: []Host{{Name: "a.b", Port: 1}}}, "2026-01-02")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1}`))
	f.Add(bytes.Replace(good, []byte("a.b"), []byte("A.b"), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decode(data)
		if err != nil {
			return
		}
		again, err := encode(p)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q became %q", data, again)
		}
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
	})
}
