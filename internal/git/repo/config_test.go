package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/file/settings"
)

// gitReads returns what git reads from a config file, in our form.
func gitReads(w *world, content string) ([]settings.GitEntry, error) {
	w.write("config", content)
	out, err := w.try(".", "config", "--file", w.path("config"), "--no-includes", "--list", "-z")
	if err != nil {
		return nil, err
	}
	var entries []settings.GitEntry
	for item := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		key, value, hasValue := strings.Cut(item, "\n")
		if item != "" {
			entries = append(entries, settings.GitEntry{Key: key, Value: value, Bare: !hasValue})
		}
	}
	return entries, nil
}

func sameEntries(a, b []settings.GitEntry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Same(b[i]) {
			return false
		}
	}
	return true
}

func TestCuratedConfig(t *testing.T) {
	w := newWorld(t)
	nasty := "a \"b\" \\ # ; 'c' \xff $(id) `id` %s"
	in := Curated{
		Settings: []settings.GitEntry{{Key: "user.name", Value: nasty}, {Key: "user.email", Value: " x@y "}, {Key: "pull.rebase", Bare: true},
			{Key: "diff.a \"b\\.xfuncname", Value: "^x"}, {Key: "alias.lg", Value: "log --pretty='%h %s'"}},
		Safe: []string{"/w s/\"q\"\\", "/new\nline", "/cr\r", "/tab\there", "/bytes\xfe", " /lead", "/#;", "*", "/nul\x00"},
	}
	got, err := gitReads(w, CuratedConfig(in))
	if err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(in.Settings), always...)
	for _, d := range in.Safe[:len(in.Safe)-1] {
		want = append(want, settings.GitEntry{Key: "safe.directory", Value: d})
	}
	if !sameEntries(got, want) {
		t.Errorf("git reads %+v\nwant %+v", got, want)
	}
}

func FuzzCurated(f *testing.F) {
	for _, s := range []string{"", "x", "a\nb", `"\`, "#;", "\r", "\r\n", "\t\b", " x ", "\xff", "]\n[core]\npager=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if strings.ContainsRune(v, 0) {
			return // no setting of a file holds one
		}
		got, err := settings.ParseGit([]byte(CuratedConfig(Curated{Settings: []settings.GitEntry{{Key: "user.name", Value: v}}, Safe: []string{v}})))
		if err != nil {
			t.Fatal(err)
		}
		want := append([]settings.GitEntry{{Key: "user.name", Value: v}}, always...)
		want = append(want, settings.GitEntry{Key: "safe.directory", Value: v})
		if !sameEntries(got, want) {
			t.Errorf("%q came back as %+v", v, got)
		}
	})
}

// TestGCKeepsAbsentWorktrees: with the curated config a gc inside does not drop
// worktrees that it cannot see. Without, it does: the control.
func TestGCKeepsAbsentWorktrees(t *testing.T) {
	for name, kept := range map[string]bool{"without": false, "with": true} {
		w := newWorld(t)
		w.worktree()
		w.rename("wt", "hidden")
		old := time.Now().AddDate(-1, 0, 0)
		for _, f := range []string{"index", "gitdir"} {
			if err := os.Chtimes(w.path("main/.git/worktrees/wt/"+f), old, old); err != nil {
				t.Fatal(err)
			}
		}
		if kept {
			w.write("home/.gitconfig", CuratedConfig(Curated{}))
		}
		w.git("main", "gc", "-q")
		if _, err := os.Stat(w.path("main/.git/worktrees/wt/HEAD")); (err == nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// identity is the only thing that comes inside, in these tests.
func identity(e settings.GitEntry) bool {
	return e.Section() == "user" && isText(e.Value) || e.Key == "color.ui"
}

// asks is the question to git, as the host puts it.
func asks(w *world) func(string) map[string]bool {
	return func(gitDir string) map[string]bool {
		out := map[string]bool{}
		for origin := range strings.SplitSeq(w.git(".", "--git-dir="+gitDir, "config", "--list", "--show-origin", "-z"), "\x00") {
			if path, ok := strings.CutPrefix(origin, "file:"); ok {
				out[RealFile(path)] = true
			}
		}
		return out
	}
}

// TestReadHost compares the identity with what git itself would use.
func TestReadHost(t *testing.T) {
	base := "[user]\nname = Home\nemail = home@example.com\n"
	work := "[user]\nemail = work@example.com\n"
	tests := map[string]struct {
		config, start string
		leftOut       int
		gitAgrees     bool
	}{
		"plain":               {base, "home/work/r", 0, true},
		"include":             {base + "[include]\npath = work.inc\n", "home/work/r", 0, true},
		"include from home":   {base + "[include]\npath = ~/work.inc\n", "home/work/r", 0, true},
		"include comes first": {"[include]\npath = ~/work.inc\n" + base, "home/work/r", 0, true},
		"include missing":     {base + "[include]\npath = ~/gone\n", "home/work/r", 0, true},
		"gitdir matches":      {base + "[includeIf \"gitdir:~/work/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"gitdir elsewhere":    {base + "[includeIf \"gitdir:~/play/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"gitdir half a name":  {base + "[includeIf \"gitdir:~/wo/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"gitdir exact":        {base + "[includeIf \"gitdir:~/work/r/.git\"]\npath = work.inc\n", "home/work/r", 0, true},
		"gitdir not exact":    {base + "[includeIf \"gitdir:~/work/r\"]\npath = work.inc\n", "home/work/r", 0, true},
		"gitdir relative":     {base + "[includeIf \"gitdir:./work/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"gitdir anywhere":     {base + "[includeIf \"gitdir:work/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"gitdir anywhere, no": {base + "[includeIf \"gitdir:ork/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"gitdir tail":         {base + "[includeIf \"gitdir:r/.git\"]\npath = work.inc\n", "home/work/r", 0, true},
		"wildcard":            {base + "[includeIf \"gitdir:~/w*/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"wildcard elsewhere":  {base + "[includeIf \"gitdir:~/p*/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"any case":            {base + "[includeIf \"gitdir/i:~/WORK/\"]\npath = work.inc\n", "home/work/r", 0, true},
		"in git's own prefix": {base + "[include]\npath = %(prefix)/gone\n", "home/work/r", 1, true},
		"signing":             {base + "signingkey = K\n[commit]\ngpgsign\n", "home/work/r", 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repo("home/work/r")
			w.write("home/work.inc", work)
			w.write("home/.gitconfig", tt.config)
			h := ReadHost([]string{w.path("home/.config/git/config"), w.path("home/.gitconfig")}, HostRules{GitDir: w.find(tt.start).GitDir, Home: w.home, Harmless: identity, Ask: asks(w)})
			email := ""
			for _, e := range h.Settings {
				if e.Key == "user.email" {
					email = e.Value
				}
				if strings.Contains(e.Key, "sign") {
					t.Errorf("%s passes", e.Key)
				}
			}
			if says := w.git(tt.start, "config", "user.email"); (says == email) != tt.gitAgrees {
				t.Errorf("we say %q, git says %q", email, says)
			}
			if len(h.LeftOut) != tt.leftOut {
				t.Errorf("left out: %q", h.LeftOut)
			}
		})
	}
}

func TestReadHostOrderAndBounds(t *testing.T) {
	w := newWorld(t)
	first, second, loop := w.path("first"), w.path("second"), w.path("loop")
	w.write("first", "[user]\nname = One\nemail = one@example.com\n[core]\npager = evil\n[color]\nui\n")
	w.write("second", "[user]\nname = Two\n")
	w.write("loop", "[include]\npath = loop\n")
	h := ReadHost([]string{first, second, w.path("gone")}, HostRules{Home: w.home, Harmless: identity})
	want := []settings.GitEntry{{Key: "color.ui", Bare: true}, {Key: "user.email", Value: "one@example.com"}, {Key: "user.name", Value: "One"}, {Key: "user.name", Value: "Two"}}
	if !sameEntries(h.Settings, want) {
		t.Errorf("got %+v", h.Settings)
	}
	w.write("big", "[user]\nname = x\n"+strings.Repeat("#", settings.MaxGitBytes))
	w.write("broken", "[user\n")
	w.fifo("fifo")
	for _, file := range []string{loop, w.path("big"), w.path("broken"), w.path("fifo"), w.dir} {
		if h := ReadHost([]string{file, second}, HostRules{Home: w.home, Harmless: identity}); len(h.Broken) != 1 || !strings.Contains(h.Broken[0], filepath.Base(file)) || h.Name != "Two" {
			t.Errorf("%s: %+v", filepath.Base(file), h)
		}
	}
	// What stands before a mistake holds, but not what would sign.
	w.write("half", "[user]\nname = Half\nsigningKey = k\n[commit]\ngpgSign = true\n[core\n[color]\nui = never\n")
	h = ReadHost([]string{w.path("half")}, HostRules{Home: w.home, Harmless: identity})
	if h.Name != "Half" || len(h.Signing) != 0 || len(h.Settings) != 1 || len(h.Broken) != 1 || !strings.Contains(h.Broken[0], `half": line 6: `) {
		t.Errorf("half a file: %+v", h)
	}
	if err := os.Symlink(first, w.path("home/.gitconfig")); err != nil {
		t.Fatal(err)
	}
	if h := ReadHost([]string{w.path("home/.gitconfig")}, HostRules{Home: w.home, Harmless: identity}); len(h.Broken) != 0 || len(h.Settings) != 3 {
		t.Errorf("symlinked dotfile: %+v", h)
	}
}
