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

// TestDeepLogins: logins of repositories that tools fetched are found where somebody asks for
// that, and nothing else there is.
func TestDeepLogins(t *testing.T) {
	const login = "[remote \"origin\"]\n\turl = https://me:ghp_0123456789abcdef@forge.test/a\n"
	root := plant(t, map[string]string{"node_modules/a/b/.git/config": login, "node_modules/a/b/.git/HEAD": "ref: refs/heads/x\n",
		"node_modules/a/.claude/settings.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}`})
	for deep, want := range map[bool]int{false: 0, true: 1} {
		budget := First("")
		budget.Deep = deep
		for what, look := range map[string]func(string, Budget) (*Report, error){"scan": Scan, "logins": GitLogins} {
			report, err := look(root, budget)
			if err != nil || len(report.Files) != want || want == 1 && report.Files[0].Unlogged == nil {
				t.Errorf("%s, deep %v: %+v, %v", what, deep, report, err)
			}
		}
	}
}
