package repo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/file/settings"
)

func TestParseRemote(t *testing.T) {
	for in, want := range map[string]Remote{
		"https://forge.test/o/r.git":          {Host: "forge.test", Path: "o/r"},
		"https://user:pw@Forge.test/o/r/":     {Host: "forge.test", Path: "o/r"},
		"https://forge.test:8443/g/sub/r":     {Host: "forge.test", Port: "8443", Path: "g/sub/r"},
		"git@forge.test:o/r.git":              {Host: "forge.test", Path: "o/r", SSH: true},
		"forge.test:/o/r":                     {Host: "forge.test", Path: "o/r", SSH: true},
		"ssh://git@forge.test:2222/o/r":       {Host: "forge.test", Port: "2222", Path: "o/r", SSH: true},
		"git://forge.test/o/r":                {Host: "forge.test", Path: "o/r"},
		"/srv/git/o/r.git":                    {},
		"../o/r":                              {},
		"file:///srv/o/r":                     {},
		"https://forge.test/o":                {},
		"https://forge.test/o/../x":           {},
		"https://forge.test/o/r?x=1":          {},
		"https://forge.test/o%2fr/x":          {},
		"git@forge.test:~me/r":                {},
		"-oProxyCommand=x:o/r":                {},
		"https://forge.test/o/r\nhttps://x/y": {},
		"ext::sh -c evil o/r":                 {},
	} {
		got, ok := ParseRemote(in)
		if ok != (want != Remote{}) || ok && got != want {
			t.Errorf("%q: %+v, %v", in, got, ok)
		}
	}
}

func TestRemotes(t *testing.T) {
	w := newWorld(t)
	w.repo("home/work/r")
	for _, args := range [][]string{
		{"remote", "add", "origin", "git@forge.test:o/r.git"}, {"remote", "add", "up", "https://forge.test/up/r"},
		{"remote", "add", "same", "ssh://git@forge.test/o/r"}, {"remote", "add", "disk", "/srv/x/y"}, {"config", "remote.up.pushurl", "https://other.test/a/b"},
	} {
		w.git("home/work/r", args...)
	}
	got, err := w.find("home/work/r").Remotes()
	if err != nil {
		t.Fatal(err)
	}
	want := []Remote{{Host: "forge.test", Path: "o/r", SSH: true}, {Host: "forge.test", Path: "up/r"}, {Host: "other.test", Path: "a/b"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Git itself reads what the curated config says.
func TestCuratedRewritesAndSigning(t *testing.T) {
	w := newWorld(t)
	w.repo("home/work/r")
	w.write("home/.gitconfig", CuratedConfig(Curated{
		Rewrites: []string{`[url "http://127.0.0.1:809/git/forge.test/"]`, "\tinsteadOf = https://forge.test/", "\tinsteadOf = git@forge.test:"},
		Sign:     []settings.GitEntry{{Key: "gpg.format", Value: "ssh"}, {Key: "gpg.ssh.program", Value: "/run/x y/z"}, {Key: "commit.gpgsign", Value: "true"}},
	}))
	w.git("home/work/r", "remote", "add", "origin", "git@forge.test:o/r.git")
	for args, want := range map[string]string{
		"remote get-url origin": "http://127.0.0.1:809/git/forge.test/o/r.git", "config gpg.ssh.program": "/run/x y/z",
		"config gpg.format": "ssh", "config commit.gpgsign": "true", "config --default none tag.gpgsign": "none",
	} {
		if got := w.git("home/work/r", strings.Fields(args)...); got != want {
			t.Errorf("%s: %q, not %q", args, got, want)
		}
	}
}

// What an agent can write says nothing of signatures, and not in whose name: an include
// of the user's that lies in a workspace, or a config that is a link into one.
func TestSigningOfAgents(t *testing.T) {
	w := newWorld(t)
	w.repo("home/work/r")
	w.write("home/.gitconfig", "[user]\nname = N\nemail = me@x.test\n[commit]\ngpgsign = true\n[include]\npath = work/inc\n")
	w.write("home/work/inc", "[user]\nemail = evil@x.test\n[gpg]\nformat = ssh\n[gpg \"ssh\"]\ndefaultKeyCommand = evil\n")
	read := func(written func(string) bool) Host {
		return ReadHost([]string{w.path("home/.gitconfig")}, HostRules{GitDir: w.find("home/work/r").GitDir, Home: w.home, Written: written, Harmless: identity})
	}
	h := read(func(p string) bool { return strings.HasPrefix(p, w.path("home/work")+"/") })
	if d := cmp.Diff([]settings.GitEntry{{Key: "commit.gpgsign", Value: "true"}}, h.Signing, cmp.AllowUnexported(settings.GitEntry{})); d != "" || h.Email != "me@x.test" || len(h.LeftOut) != 2 {
		t.Errorf("%s%q, left out %q", d, h.Email, h.LeftOut)
	}
	if h = read(nil); len(h.Signing) != 3 || h.Email != "evil@x.test" {
		t.Errorf("elsewhere the include counts: %v, %q", h.Signing, h.Email)
	}
}
