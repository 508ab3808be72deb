package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/address"
)

func hostRule(t *testing.T, s string) address.Rule {
	t.Helper()
	r, err := address.ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var keepDay = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// TestKeepOthersLines: what somebody wrote since stays as it is, to the byte.
func TestKeepOthersLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.toml")
	if err := Keep(file, hostRule(t, "a.test"), keepDay, "wanted by \"curl\""); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if want := keepHead + "[network]\nallow = [\n  \"a.test\",  # 2026-03-04 wanted by \"curl\"\n]\n"; err != nil || string(b) != want {
		t.Fatalf("%q, %v", b, err)
	}
	by := "# mine\n[network]\nallow = [\n  # why not\n\t'z.test' , # odd\n  \"a.test\",  # old\n]\n# end\n"
	if err := os.WriteFile(file, []byte(by), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.test", "b.test"} {
		if err := Keep(file, hostRule(t, host), keepDay, "again\nand \x1b[31m"); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Replace(by, "# old\n", "# old\n  \"b.test\",  # 2026-03-04 again?and ?[31m\n", 1)
	if b, err := os.ReadFile(file); err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
}

// What is kept is the very rule, once, and nothing broader.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config", "grants.toml")
	for _, s := range []string{"a.test", "b.test:8443", "a.test", "tcp://c.test:22"} {
		if err := Keep(file, hostRule(t, s), keepDay, "for \x1b[31m\"a tool\"\nallow = 1"); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.Network.Allow {
		got = append(got, r.Value)
	}
	if want := "a.test b.test:8443 tcp://c.test:22"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if p.Network.Mode != nil || p.Network.Deny != nil || p.Files.Read != nil {
		t.Error("more than hosts was kept")
	}
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v, %v", left, err)
	}
}

// A file that somebody wrote is not rewritten, and a broken one is not replaced.
func TestKeepLeavesOthersAlone(t *testing.T) {
	for name, text := range map[string]string{
		"more":   "[network]\nallow = [\"a.test\"]\nmode = \"internet\"\n",
		"broken": "[network\n",
	} {
		file := filepath.Join(t.TempDir(), "grants.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Keep(file, hostRule(t, "b.test"), keepDay, "x"); err == nil {
			t.Errorf("%s: rewritten", name)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != text {
			t.Errorf("%s: now %q, %v", name, b, err)
		}
	}
}
