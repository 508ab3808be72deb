package source

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"

	"ringfence.dev/ringfence/internal/fault"
)

func newStore(t testing.TB) Store {
	dir := t.TempDir()
	return Store{Path: dir + "/config/secrets.age", Identity: dir + "/state/secrets.key"}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	s := newStore(t)
	if names, err := s.Names(); err != nil || len(names) != 0 {
		t.Fatalf("%v, %v", names, err)
	}
	if was, err := s.Remove("a"); was || err != nil {
		t.Errorf("removed %v, %v", was, err)
	}
	if _, err := os.Lstat(filepath.Dir(s.Identity)); err == nil {
		t.Error("to look made a key")
	}
	must(t, s.Set("b", value(t, text)))
	must(t, s.Set("a", value(t, "<&\u2028>")))
	must(t, s.Set("a", value(t, "new")))
	if names, err := s.Names(); err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%v, %v", names, err)
	}
	for name, want := range map[string]string{"a": "new", "b": text} {
		if v, err := s.Get(name); err != nil || v.Reveal() != want {
			t.Errorf("%s: %q, %v", name, v.Reveal(), err)
		}
	}
	for _, f := range []string{s.Path, s.Identity} {
		data, err := os.ReadFile(f)
		must(t, err)
		if st, _ := os.Stat(f); st.Mode().Perm() != 0o600 || bytes.Contains(data, []byte("canary")) {
			t.Errorf("%s: %v", f, st.Mode())
		}
	}
	if _, err := s.Get("c"); err == nil || err.Error() != "secret c is not set" || fault.HintOf(err) != "ringfence secret set c" {
		t.Errorf("%v", err)
	}
	if was, err := s.Remove("b"); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if was, err := s.Remove("b"); was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if err := s.Set("a b", value(t, "x")); err == nil {
		t.Error("a name with a space")
	}
	if err := s.Set("a", Value{}); err == nil {
		t.Error("an empty value")
	}
	left, err := filepath.Glob(filepath.Dir(s.Path) + "/.*")
	if more, _ := filepath.Glob(filepath.Dir(s.Identity) + "/.*"); err != nil || len(left)+len(more) > 0 {
		t.Errorf("left behind: %v %v", left, more)
	}
}

// Twenty who are first at once: one key, and nothing is lost.
func TestStoreWriters(t *testing.T) {
	s := newStore(t)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if err := s.Set(fmt.Sprintf("n%d", i), value(t, fmt.Sprintf("v%d", i))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	names, err := s.Names()
	if err != nil || len(names) != 20 {
		t.Fatalf("%v, %v", names, err)
	}
	for i := range 20 {
		if v, err := s.Get(fmt.Sprintf("n%d", i)); err != nil || v.Reveal() != fmt.Sprintf("v%d", i) {
			t.Errorf("%d: %q, %v", i, v.Reveal(), err)
		}
	}
}

// What cannot be read is never written over.
func TestStoreLeavesWhatItCannotRead(t *testing.T) {
	foreign, err := age.GenerateX25519Identity()
	must(t, err)
	for _, c := range []struct {
		name, wrong string
		spoil       func(t *testing.T, s Store)
	}{
		{"garbage", "not a file of age, or it is damaged", func(t *testing.T, s Store) { write(t, s.Path, "garbage", 0o600) }},
		{"empty", "not a file of age", func(t *testing.T, s Store) { write(t, s.Path, "", 0o600) }},
		{"cut", "damaged", func(t *testing.T, s Store) {
			data, _ := os.ReadFile(s.Path)
			write(t, s.Path, string(data[:len(data)-1]), 0o600)
		}},
		{"flipped", "damaged", func(t *testing.T, s Store) {
			data, _ := os.ReadFile(s.Path)
			data[len(data)-3] ^= 1
			write(t, s.Path, string(data), 0o600)
		}},
		{"foreign", "written with another key", func(t *testing.T, s Store) {
			write(t, s.Path, encrypted(t, foreign, `{"version":1,"secrets":{}}`), 0o600)
		}},
		{"newer", "it has version 2, this ringfence reads 1", func(t *testing.T, s Store) {
			write(t, s.Path, encrypted(t, s.identity(t), `{"version":2,"x":[]}`), 0o600)
		}},
		{"other content", "not as ringfence writes it", func(t *testing.T, s Store) { write(t, s.Path, encrypted(t, s.identity(t), "canary"), 0o600) }},
		{"huge", "larger than 4 MiB", func(t *testing.T, s Store) { write(t, s.Path, strings.Repeat("x", maxStore+1), 0o600) }},
		{"writable", "open to other users (mode 0620)", func(t *testing.T, s Store) { must(t, os.Chmod(s.Path, 0o620)) }},
		{"no key", "has lost its key", func(t *testing.T, s Store) { must(t, os.Remove(s.Identity)) }},
		{"open key", "open to other users (mode 0640)", func(t *testing.T, s Store) { must(t, os.Chmod(s.Identity, 0o640)) }},
		{"key of something", "not the key of a store", func(t *testing.T, s Store) { write(t, s.Identity, "canary\n", 0o600) }},
		{"two keys", "not the key of a store", func(t *testing.T, s Store) {
			write(t, s.Identity, foreign.String()+"\n"+foreign.String()+"\n", 0o600)
		}},
		{"linked key", "is a symlink", func(t *testing.T, s Store) {
			must(t, os.Rename(s.Identity, s.Identity+"2"))
			link(t, s.Identity+"2", s.Identity)
		}},
		{"directory", "not a regular file", func(t *testing.T, s Store) { must(t, os.Remove(s.Path)); must(t, os.Mkdir(s.Path, 0o700)) }},
		{"dangling", "a symlink to nothing", func(t *testing.T, s Store) { must(t, os.Remove(s.Path)); link(t, "/nowhere", s.Path) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			must(t, s.Set("a", value(t, text)))
			c.spoil(t, s)
			before := snapshot(s)
			_, get := s.Get("a")
			_, names := s.Names()
			_, remove := s.Remove("a")
			for what, err := range map[string]error{"get": get, "names": names, "set": s.Set("b", value(t, "x")), "remove": remove} {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "canary") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if after := snapshot(s); after != before {
				t.Errorf("changed:\n%s\n%s", before, after)
			}
		})
	}
}

func (s Store) identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	k, err := s.key()
	must(t, err)
	k.Close()
	return k.X25519Identity
}

func encrypted(t testing.TB, id *age.X25519Identity, plain string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := age.Encrypt(&b, id.Recipient())
	must(t, err)
	_, err = w.Write([]byte(plain))
	must(t, err)
	must(t, w.Close())
	return b.String()
}

func snapshot(s Store) (out string) {
	for _, f := range []string{s.Path, s.Identity} {
		st, err := os.Lstat(f)
		if err != nil {
			out += fmt.Sprintln(f, err)
			continue
		}
		data, _ := os.ReadFile(f)
		out += fmt.Sprintf("%s %v %v %x\n", f, st.Mode(), st.ModTime(), data)
	}
	return out
}

// A store that is full says so and keeps what it has.
func TestStoreIsBounded(t *testing.T) {
	s := newStore(t)
	must(t, s.Set("first", value(t, text)))
	c := &content{Version: contentVersion, Secrets: map[string]string{"first": text}}
	for i := range maxContent/maxValue - 1 {
		c.Secrets[fmt.Sprintf("n%d", i)] = strings.Repeat("x", maxValue)
	}
	must(t, s.write(c, s.identity(t)))
	if err := s.Set("last", value(t, strings.Repeat("x", maxValue))); err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
		t.Error(err)
	}
	must(t, s.Set("small", value(t, "y")))
	if names, err := s.Names(); err != nil || len(names) != maxContent/maxValue+1 {
		t.Errorf("%d names, %v", len(names), err)
	}
	if v, err := s.Get("first"); err != nil || v.Reveal() != text {
		t.Error(err)
	}
}

// The file may be a link into a directory that is synchronised: the link stays.
func TestStoreKeepsLink(t *testing.T) {
	s := newStore(t)
	must(t, s.Set("a", value(t, text)))
	real := filepath.Join(t.TempDir(), "elsewhere.age")
	must(t, os.Rename(s.Path, real))
	link(t, real, s.Path)
	must(t, s.Set("b", value(t, "x")))
	if st, err := os.Lstat(s.Path); err != nil || st.Mode().IsRegular() {
		t.Errorf("%v, %v", st, err)
	}
	if names, err := s.Names(); err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
}
