package learn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/workspace/keeper"
)

// host makes files of a home directory; a name that ends in a slash is a directory.
func host(t *testing.T, names ...string) (home string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home = filepath.Join(home, "u")
	for _, n := range append(names, "project/") {
		p := filepath.Join(home, n)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(n, "/") {
			err = os.MkdirAll(p, 0o755)
		} else {
			err = os.WriteFile(p, []byte("x"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func situation(t *testing.T, home string) Situation {
	t.Helper()
	p := policy.Builtin()
	reach, err := p.Reach(nil)
	if err != nil {
		t.Fatal(err)
	}
	return Situation{Home: home, Trees: []string{home + "/project"}, Own: []string{home + "/.config/ringfence"}, PATH: []string{home + "/bin", "/usr/bin"}, Policy: p, Reach: reach}
}

// propose plays a session that asked for these and returns the lines.
func propose(t *testing.T, home string, asks ...keeper.Ask) (lines []string, not []string) {
	t.Helper()
	n := Collect(home, nil, nil, []string{home + "/project"})
	for _, a := range asks {
		n.Asked(a)
	}
	seen := n.Look(nil)
	p := Propose(join(Seen{}, seen, "2026-01-02"), situation(t, home))
	for _, l := range p.Lines {
		lines = append(lines, l.Key+" "+l.Value)
	}
	for _, x := range p.Not {
		not = append(not, x.What)
	}
	slices.Sort(lines)
	slices.Sort(not)
	return lines, not
}

func read(p string) keeper.Ask { return keeper.Ask{Path: p, Open: true, Absent: true} }
func look(p string) keeper.Ask { return keeper.Ask{Path: p, Absent: true} }

func TestProposePaths(t *testing.T) {
	home := host(t, ".toolrc", ".tool/a", ".tool/b", ".tool/c", "lib/a", "lib/b", "lib/c", "lib/sub/x", ".ssh/id_rsa", ".aws/credentials",
		".config/ringfence/policy.toml", ".config/app/one", "docs/a", "docs/b", "keys/.netrc", "data/old", ".env.production", "two/a", "two/b",
		"bin/tool", "bin/a", "bin/b", "bin/c", ".config/autostart/y", "other/.git/hooks/x")
	for name, c := range map[string]struct {
		asks []keeper.Ask
		want string
		not  string
	}{
		"one file":               {[]keeper.Ask{read(home + "/.toolrc")}, "read ~/.toolrc", ""},
		"not on the host":        {[]keeper.Ask{read(home + "/.nowhere"), read("/opt/nowhere/x")}, "", ""},
		"two siblings":           {[]keeper.Ask{read(home + "/two/a"), read(home + "/two/b")}, "read ~/two/a|read ~/two/b", ""},
		"three siblings":         {[]keeper.Ask{read(home + "/lib/a"), read(home + "/lib/b"), read(home + "/lib/c")}, "read ~/lib", ""},
		"hidden siblings":        {[]keeper.Ask{read(home + "/.tool/a"), read(home + "/.tool/b"), read(home + "/.tool/c")}, "read ~/.tool/a|read ~/.tool/b|read ~/.tool/c", ""},
		"of HOME":                {[]keeper.Ask{read(home + "/.toolrc"), read(home + "/lib"), read(home + "/docs")}, "read ~/.toolrc|read ~/docs|read ~/lib", ""},
		"on the way":             {[]keeper.Ask{look(home + "/docs"), look(home + "/docs/a")}, "read ~/docs/a", ""},
		"a list of it":           {[]keeper.Ask{read(home + "/docs"), read(home + "/docs/a")}, "read ~/docs", ""},
		"a key":                  {[]keeper.Ask{read(home + "/.ssh/id_rsa"), read(home + "/.aws")}, "", "~/.aws|~/.ssh/id_rsa"},
		"HOME":                   {[]keeper.Ask{read(home), read(filepath.Dir(home))}, "", filepath.Dir(home) + "|" + home},
		"a base":                 {[]keeper.Ask{read(home + "/.config")}, "", "~/.config"},
		"in a base":              {[]keeper.Ask{read(home + "/.config/app/one")}, "read ~/.config/app/one", ""},
		"our own":                {[]keeper.Ask{read(home + "/.config/ringfence/policy.toml")}, "", "~/.config/ringfence/policy.toml"},
		"a decoy's place":        {[]keeper.Ask{read(home + "/.env.production")}, "", "~/.env.production"},
		"to write":               {[]keeper.Ask{{Path: home + "/data/new", Write: true, Absent: true}}, "write ~/data", ""},
		"to change":              {[]keeper.Ask{{Path: home + "/data/old", Write: true, Fixed: true}}, "write ~/data/old", ""},
		"a program":              {[]keeper.Ask{{Path: home + "/bin/tool", Write: true, Fixed: true}}, "", "~/bin/tool"},
		"a new program":          {[]keeper.Ask{{Path: home + "/bin/new", Write: true, Absent: true}}, "", "~/bin"},
		"settings":               {[]keeper.Ask{{Path: home + "/.toolrc", Write: true, Fixed: true}, {Path: home + "/.config/autostart/x.desktop", Write: true, Absent: true}}, "", "~/.config/autostart|~/.toolrc"},
		"another's hooks":        {[]keeper.Ask{{Path: home + "/other/.git/hooks/pre-commit", Write: true, Absent: true}}, "", "~/other/.git/hooks"},
		"siblings, one to write": {[]keeper.Ask{read(home + "/bin/a"), read(home + "/bin/b"), {Path: home + "/bin/c", Write: true, Fixed: true}}, "read ~/bin/a|read ~/bin/b", "~/bin/c"},
		"system":                 {[]keeper.Ask{{Path: "/usr/share/x", Write: true, Fixed: true}}, "", "/usr/share"},
		"its own":                {[]keeper.Ask{look(home + "/lib/a"), {Path: home + "/lib", Write: true, Made: true}}, "", ""},
		"not shown as it is":     {[]keeper.Ask{read(home + "/\x1b[2J"), read(home + "/a\nb")}, "", ""},
	} {
		lines, not := propose(t, home, c.asks...)
		if os.Getuid() != 0 && name == "system" {
			not, c.not = nil, "" // an ordinary user cannot write there at all
		}
		if got := strings.Join(lines, "|"); got != c.want {
			t.Errorf("%s: proposed %q, want %q", name, got, c.want)
		}
		if got := strings.Join(not, "|"); got != c.not {
			t.Errorf("%s: not proposed %q, want %q", name, got, c.not)
		}
	}
}

// TestNothingOfACredentialIsEverProposed: also where the policy names it, and whatever
// else was asked for beside it.
func TestNothingOfACredentialIsEverProposed(t *testing.T) {
	home := host(t, ".ssh/config", ".ssh/known_hosts", ".ssh/id_ed25519", "work/a", "work/b", "work/c", ".docker/config.json", ".kube/config")
	if err := os.Symlink(home+"/.ssh", home+"/work/link"); err != nil {
		t.Fatal(err)
	}
	var asks []keeper.Ask
	for _, p := range []string{".ssh", ".ssh/config", ".ssh/known_hosts", ".ssh/id_ed25519", ".docker", ".docker/config.json", ".kube/config", ".kube", "work/link", "work/link/id_ed25519"} {
		asks = append(asks, read(home+"/"+p), keeper.Ask{Path: home + "/" + p, Write: true, Absent: true, Open: true})
	}
	lines, not := propose(t, home, asks...)
	if len(lines) > 0 || len(not) < 9 {
		t.Errorf("proposed %q, not proposed %q", lines, not)
	}
}

func TestProposeHosts(t *testing.T) {
	in := situation(t, "/home/u")
	seen := Seen{Hosts: []Host{
		{Name: "api.example.com", Port: 443}, {Name: "api.example.com", Port: 80}, {Name: "db.example.com", Port: 5432},
		{Name: "guess.example.com"}, {Name: "github.com", Port: 443}, {Name: "webhook.site", Port: 443}, {Name: "x.github.io", Port: 443},
		{Name: "printer.local", Port: 80}, {Name: "gone.example.com", Port: 443, Refused: "not reached: the name does not exist"},
		{Name: "conda.anaconda.org", Port: 443}, {Name: "repo.anaconda.com", Port: 443}, {Name: "hex.pm", Port: 443},
	}}
	p := Propose(join(Seen{}, seen, "2026-01-02"), in)
	var got []string
	for _, l := range p.Lines {
		got = append(got, l.Key+" "+l.Value)
	}
	want := "groups +conda|allow api.example.com|allow db.example.com:5432|allow guess.example.com:443|allow hex.pm:443"
	if strings.Join(got, "|") != want {
		t.Errorf("proposed %q\nwant     %q", strings.Join(got, "|"), want)
	}
	if len(p.Not) != 4 {
		t.Errorf("not proposed: %v", p.Not)
	}
	// What is proposed decides as it should.
	with := policy.Merge(in.Policy, Policy(p.Lines))
	reach, err := with.Reach(nil)
	if err != nil {
		t.Fatal(err)
	}
	in.Policy, in.Reach = with, reach
	if again := Propose(join(Seen{}, seen, "2026-01-02"), in); len(again.Lines) > 0 {
		t.Errorf("saved, and proposed again: %v", again.Lines)
	}
}

func TestVariables(t *testing.T) {
	home := host(t, "project/run.sh", "project/other", "secret")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(home+"/project/run.sh", []byte("echo $TOOL_MODE ${TOOL_LEVEL}x MY_TOOL_NAME $AWS_SECRET_ACCESS_KEY PATH"), 0o644))
	must(os.WriteFile(home+"/project/other", []byte("TOOL_OTHER"), 0o644))
	must(os.WriteFile(home+"/secret", []byte("TOOL_SECRET"), 0o644))
	must(os.Symlink(home+"/secret", home+"/project/link"))
	n := Collect(home, nil, nil, []string{home + "/project"})
	n.Asked(keeper.Ask{Path: home + "/project/run.sh", Open: true})
	n.Asked(keeper.Ask{Path: home + "/project/link", Open: true})
	n.Asked(keeper.Ask{Path: home + "/project/other"}) // only looked at
	seen := n.Look([]string{"TOOL_MODE", "TOOL_LEVEL", "TOOL_NAME", "TOOL_OTHER", "TOOL_SECRET", "AWS_SECRET_ACCESS_KEY", "PATH", "x"})
	p := Propose(join(Seen{}, seen, "2026-01-02"), situation(t, home))
	var got []string
	for _, l := range p.Lines {
		got = append(got, l.Value+": "+l.Comment())
	}
	if want := "TOOL_LEVEL: seen in 1 session; its value in your shell; named in run.sh|TOOL_MODE: seen in 1 session; its value in your shell; named in run.sh"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
	if len(p.Not) != 1 || p.Not[0].What != "$AWS_SECRET_ACCESS_KEY" {
		t.Errorf("%v", p.Not)
	}
}

func TestNamesAreBounded(t *testing.T) {
	n := Collect("/home/u", []string{"/usr"}, []string{"/home/u/.npm"}, nil)
	for i := range 3 * maxNames {
		name := "/home/u/" + strings.Repeat("x", i%500) + time.Unix(int64(i), 0).UTC().Format("150405")
		n.Asked(read(name))
		n.Asked(keeper.Ask{Path: name, Made: true, Write: true})
		n.Asked(read("/usr/" + name))
		n.Asked(read("/home/u/.npm" + name))
	}
	if len(n.wants) != maxNames || len(n.made) > maxMade || !n.more {
		t.Errorf("%d names, %d made, more: %v", len(n.wants), len(n.made), n.more)
	}
	if !n.Look(nil).More {
		t.Error("it is not told that more was asked for")
	}
}

// What a repository names is not proposed where the value may be a secret.
func TestSecretValues(t *testing.T) {
	in := Situation{Env: []string{"GHX=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB", "STRIPE=sk_live_51H0123456789abcdefghij", "CONN=postgres://u:s3cret@h/db",
		"QUOTED=it's ghp_0123456789abcdefghijklmnopqrstuvwxyzAB", "STAGE=staging", "PORT=8080", "WHERE=/opt/data", "OPAQUE=a8Fk29dLq0Zx7Pw3", "URL=https://example.test/some/long/path-of-words"}}
	for name, want := range map[string]bool{"GHX": true, "STRIPE": true, "CONN": true, "QUOTED": true, "STAGE": false, "PORT": false, "WHERE": false, "OPAQUE": true, "URL": false, "UNSET": false} {
		if got := in.secret(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
