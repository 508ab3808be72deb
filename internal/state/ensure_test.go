package state

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestEnsure(t *testing.T) {
	d := newDirs(t)
	p := open(t, d, "/")
	defer p.Close()
	first, err := p.Ensure(agentItems)
	if err != nil {
		t.Fatal(err)
	}
	for i, pl := range first {
		fi, err := os.Lstat(pl.Path)
		if err != nil {
			t.Fatal(err)
		}
		st := fi.Sys().(*syscall.Stat_t)
		if pl.Path != filepath.Join(p.Home(), agentItems[i].Path) || fi.IsDir() != agentItems[i].Dir || st.Ino != pl.Ino || st.Dev != pl.Dev || pl.Aside != "" {
			t.Errorf("%+v is %v", pl, fi)
		}
		if !agentItems[i].Dir && fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", pl.Path, fi.Mode())
		}
	}
	if err := os.WriteFile(first[2].Path, []byte("the agent's"), 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := p.Ensure(agentItems)
	if err != nil {
		t.Fatal(err)
	}
	for i := range second {
		if second[i] != first[i] {
			t.Errorf("%+v became %+v", first[i], second[i])
		}
	}
	if b, _ := os.ReadFile(first[2].Path); string(b) != "the agent's" {
		t.Errorf("seeded again: %q", b)
	}
}

func TestEnsureRefusesPaths(t *testing.T) {
	p := open(t, newDirs(t), "/")
	defer p.Close()
	for _, path := range []string{"", ".", "..", "/etc", "../lock", "a/../b", "a//b", "a/", "./a", "a/../../record", "nul\x00"} {
		if pl, err := p.Ensure([]Item{{Path: path}}); err == nil {
			t.Errorf("%q: %+v", path, pl)
		}
	}
}

var (
	hostileFile = Item{Path: ".claude/settings.json", Seed: []byte("seed")}
	hostileDir  = Item{Path: ".cache/npm", Dir: true}
)

// plants are what an agent may leave where an item belongs.
var plants = map[string]struct {
	plant func(home, victim string) error
	item  Item
	clean bool // nothing needs to be set aside
}{
	"file is a dangling symlink":  {func(h, v string) error { return relink(v+"/new", h+"/.claude/settings.json") }, hostileFile, false},
	"file is a symlink to a file": {func(h, v string) error { return relink(v+"/secret", h+"/.claude/settings.json") }, hostileFile, false},
	"file is a relative symlink":  {func(h, v string) error { return relink("../../../record", h+"/.claude/settings.json") }, hostileFile, false},
	"file is a symlink inside":    {func(h, v string) error { return relink("other", h+"/.claude/settings.json") }, hostileFile, false},
	"file is a symlink to proc":   {func(h, v string) error { return relink("/proc/self/exe", h+"/.claude/settings.json") }, hostileFile, false},
	"parent is a symlink":         {func(h, v string) error { return relink(v, h+"/.claude") }, hostileFile, false},
	"parent is a dangling link":   {func(h, v string) error { return relink(v+"/new", h+"/.claude") }, hostileFile, false},
	"parent is a file":            {func(h, v string) error { os.RemoveAll(h + "/.claude"); return os.WriteFile(h+"/.claude", nil, 0o600) }, hostileFile, false},
	"file is a fifo": {func(h, v string) error {
		os.Remove(h + "/.claude/settings.json")
		return syscall.Mkfifo(h+"/.claude/settings.json", 0o600)
	}, hostileFile, false},
	"file is a directory": {func(h, v string) error {
		os.Remove(h + "/.claude/settings.json")
		return os.MkdirAll(h+"/.claude/settings.json/x", 0o700)
	}, hostileFile, false},
	"file is a locked directory": {func(h, v string) error {
		os.Remove(h + "/.claude/settings.json")
		return os.Mkdir(h+"/.claude/settings.json", 0)
	}, hostileFile, false},
	"directory is a symlink":    {func(h, v string) error { return relink(v, h+"/.cache/npm") }, hostileDir, false},
	"directory's parent is one": {func(h, v string) error { return relink(v, h+"/.cache") }, hostileDir, false},
	"directory is a file": {func(h, v string) error {
		os.RemoveAll(h + "/.cache/npm")
		return os.WriteFile(h+"/.cache/npm", nil, 0o600)
	}, hostileDir, false},
	"loop":             {func(h, v string) error { return relink("npm", h+"/.cache/npm") }, hostileDir, false},
	"parent is locked": {func(h, v string) error { return os.Chmod(h+"/.claude", 0) }, hostileFile, true},
	"home is locked":   {func(h, v string) error { return os.Chmod(h, 0) }, hostileFile, true},
	"file is gone, parent locked": {func(h, v string) error {
		os.Remove(h + "/.claude/settings.json")
		return os.Chmod(h+"/.claude", 0o555)
	}, hostileFile, true},
}

// TestEnsureHostile: the victim outside is neither read, written, made nor bound.
func TestEnsureHostile(t *testing.T) {
	for name, tt := range plants {
		t.Run(name, func(t *testing.T) {
			d := newDirs(t)
			p := open(t, d, "/")
			defer p.Close()
			victim := t.TempDir()
			if err := os.WriteFile(victim+"/secret", []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Ensure([]Item{hostileFile, hostileDir}); err != nil {
				t.Fatal(err)
			}
			if err := tt.plant(p.Home(), victim); err != nil {
				t.Fatal(err)
			}
			placed, err := p.Ensure([]Item{tt.item})
			if err != nil {
				t.Fatal(err)
			}
			pl := placed[0]
			real, err := filepath.EvalSymlinks(pl.Path)
			if err != nil || real != pl.Path {
				t.Errorf("%q leads to %q, %v", pl.Path, real, err)
			}
			if fi, err := os.Lstat(pl.Path); err != nil || fi.IsDir() != tt.item.Dir || !fi.IsDir() && !fi.Mode().IsRegular() {
				t.Errorf("placed %v, %v", fi, err)
			}
			if b, _ := os.ReadFile(pl.Path); !tt.item.Dir && string(b) != "seed" {
				t.Errorf("holds %q", b)
			}
			if tt.clean != (pl.Aside == "") {
				t.Errorf("set aside: %q", pl.Aside)
			}
			if _, err := os.Lstat(pl.Aside); !tt.clean && (err != nil || !strings.HasPrefix(pl.Aside, p.dir+"/aside/")) {
				t.Errorf("set aside in %q: %v", pl.Aside, err)
			}
			untouched(t, victim)
			complete(t, d, 1)
		})
	}
}

// TestEnsureNeverReplaces: another session wrote the file in the meantime, or
// planted a link there.
func TestEnsureNeverReplaces(t *testing.T) {
	for name, content := range map[string]string{"file": "theirs", "symlink": "seed"} {
		t.Run(name, func(t *testing.T) {
			d := newDirs(t)
			p := open(t, d, "/")
			defer p.Close()
			victim := t.TempDir()
			if err := os.WriteFile(victim+"/secret", []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			onStep(t, "seed written", func() {
				err := os.WriteFile(p.Home()+"/f", []byte("theirs"), 0o600)
				if name == "symlink" {
					err = relink(victim+"/secret", p.Home()+"/f")
				}
				if err != nil {
					t.Error(err)
				}
			})
			placed, err := p.Ensure([]Item{{Path: "f", Seed: []byte("seed")}})
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(placed[0].Path); string(b) != content {
				t.Errorf("holds %q, %v", b, err)
			}
			untouched(t, victim)
			complete(t, d, 1)
		})
	}
}

func relink(target, path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

// untouched asserts that a victim holds its secret and nothing else.
func untouched(t *testing.T, victim string) {
	t.Helper()
	all, err := os.ReadDir(victim)
	if err != nil || len(all) != 1 {
		t.Errorf("victim holds %v, %v", all, err)
	}
	if b, err := os.ReadFile(victim + "/secret"); string(b) != "secret" {
		t.Errorf("secret is %q, %v", b, err)
	}
}

func BenchmarkLaunch(b *testing.B) {
	d, err := XDG(func(string) string { return "" }, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := d.Open("/")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Ensure(agentItems); err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}
