package scan

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// settingsOf is what git reads in a configuration, one setting each.
func settingsOf(t *testing.T, config []byte) []string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(name, config, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "config", "--file", name, "--list", "-z").Output()
	if err != nil {
		t.Fatalf("git reads %q: %v", config, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// TestGitNeutral: git reads of what stands for a configuration what it read before,
// without what was found.
func TestGitNeutral(t *testing.T) {
	config := "[core]\n\tbare = false\n\tfsmonitor = \"./evil \\\"x\\\"\" ; hm\n\tignorecase\n[remote \"o\\\\r \\\"x\"]\n\turl = https://example.test/a#b\n\tfetch = +refs/heads/*:refs/remotes/o/*\n" +
		"[branch \"a.b\"]\n\tdescription = \"one\\ntwo\\tthree  \" \\\n   four\n[include]\n\tpath = evil\n[filter \"x\"]\n\tclean = evil %f\n[alias]\n\tst = status\n\tx = !true\n[core]\n\tsshCommand = sh -c 'evil; ssh'\n[empty]\n\tvalue =\n"
	root := plant(t, map[string]string{".git/config": config, ".git/HEAD": "ref: refs/heads/x\n"})
	r := look(t, root)
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == ".git/config" })
	if i < 0 || !r.Files[i].Mended {
		t.Fatalf("%q", said(r))
	}
	want := slices.DeleteFunc(settingsOf(t, []byte(config)), func(s string) bool { return strings.Contains(s, "evil") })
	if got := settingsOf(t, r.Files[i].Neutral); !slices.Equal(got, want) {
		t.Errorf("git reads\n%q, want\n%q", got, want)
	}
	if bytes.Contains(r.Files[i].Neutral, []byte("evil")) {
		t.Errorf("%s", r.Files[i].Neutral)
	}
}
