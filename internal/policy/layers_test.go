package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rules prints p without sources, for comparison.
func rules(t *testing.T, p *Policy) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(b.String()) {
		text, _, _ := strings.Cut(line, "  # ")
		out = append(out, strings.TrimSpace(text))
	}
	return strings.Join(out, " ")
}

func TestTighten(t *testing.T) {
	for _, c := range []struct{ name, base, over, want string }{
		{"unwritten bounds nothing", "files.read = ['/a']", "", `[files] read = [ "/a", ]`},
		{"written empty", "files.read = ['/a']", "files.read = []", `[files] read = []`},
		{"covered stays", "files.read = ['/a/b', '/c']", "files.read = ['/a']", `[files] read = [ "/a/b", ]`},
		{"no prefix of a name", "files.read = ['/ab']", "files.read = ['/a']", `[files] read = []`},
		{"narrower joins", "files.read = ['/a']", "files.read = ['/a/b', '/c']", `[files] read = [ "/a/b", ]`},
		{"write to read", "files.write = ['/a']", "files.write = []\nfiles.read = ['/a']", `[files] read = [ "/a", ] write = []`},
		{"workspace to ro", "workspace.paths = ['/a']", "workspace.paths = ['/a:ro']", `[workspace] paths = [ "/a:ro", ]`},
		{"ro stays ro", "workspace.paths = ['/a:ro']", "workspace.paths = ['/a']", `[workspace] paths = [ "/a:ro", ]`},
		{"hole of base", "files.write = ['/a']\nfiles.read = ['/a/b']", "files.read = []",
			`[files] read = [ "/a/b", ] write = [ "/a", ]`},
		{"hole of over", "files.write = ['/a']", "files.write = ['/a']\nworkspace.paths = ['/a/b:ro']",
			`[workspace] paths = []  [files] read = [ "/a/b", ] write = [ "/a", ]`},
		{"mask loses its workspace", "workspace.paths = ['/a']\nfiles.write = ['/a']\nfiles.mask = ['key']", "workspace.paths = []",
			`[workspace] paths = []  [files] write = [ "/a", ] mask = [ "key", "/a/key", ]`},
		{"masks join", "files.mask = ['a']", "files.mask = ['b', 'a']", `[files] mask = [ "a", "b", ]`},
		{"names", "env.pass = ['A', 'B']", "env.pass = ['B', 'C']", `[env] pass = [ "B", ]`},
		{"values are of base", "env.set = {A = '1', B = '2'}", "env.set = {A = '9', C = '9'}", `[env.set] A = "1"`},
		{"limits", "limits = {pids = 10, tmp = 5}", "limits = {pids = 20, tmp = 4, memory = 3}", `[limits] pids = 10 memory = 3 tmp = 4`},
		{"walls join", "require.walls = ['user']", "require.walls = ['tty']", `[require] walls = [ "user", "tty", ]`},
		{"all walls stay all", "", "require.walls = ['tty']", ``},
	} {
		got := rules(t, Tighten(mustDecode(t, c.base), mustDecode(t, c.over)))
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestTightenBoundsPinnedMasks(t *testing.T) {
	var base, over Policy
	base.Files.Read = List{{Value: "/r"}}
	for i := range 2000 {
		over.Workspace.Paths = append(over.Workspace.Paths, Rule{Value: "/r/" + strings.Repeat("w", i+1)})
		over.Files.Mask = append(over.Files.Mask, Rule{Value: strings.Repeat("m", i+1)})
	}
	if n := len(Tighten(&base, &over).Files.Mask); n != 4000 {
		t.Errorf("%d masks", n)
	}
}

func TestMerge(t *testing.T) {
	for _, c := range []struct{ name, base, over, want string }{
		{"union in order", "files.read = ['/b', '/a']", "files.read = ['/c', '/b']", `[files] read = [ "/b", "/a", "/c", ]`},
		{"scalars", "limits.pids = 10", "limits.pids = 20", `[limits] pids = 20`},
		{"waive", "require.walls = ['user', 'tty']", "require.walls = ['user']", `[require] walls = [ "user", ]`},
		{"waive all", "require.walls = ['user', 'tty']", "require.walls = []", `[require] walls = []`},
		{"set instead of pass", "env.pass = ['A', 'B']", "env.set.A = '1'", `[env] pass = [ "B", ]  [env.set] A = "1"`},
		{"pass instead of set", "env.set = {A = '1', B = '2'}", "env.pass = ['A']", `[env] pass = [ "A", ]  [env.set] B = "2"`},
		{"value", "env.set = {A = '1'}", "env.set = {A = '2'}", `[env.set] A = "2"`},
	} {
		got := rules(t, Merge(mustDecode(t, c.base), mustDecode(t, c.over)))
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	if got := Merge(mustDecode(t, "files.read = ['/a']"), &Policy{Files: Files{Read: List{{"/a", Source{File: "flag --ro"}}}}}); got.Files.Read[0].Source.Line != 1 {
		t.Errorf("the first source is lost: %v", got.Files.Read)
	}
}

func decodeAs(t *testing.T, name, text string) *Policy {
	t.Helper()
	p, err := Decode(strings.NewReader(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const project = `[files]
read = ["~/data", "~/ref/a"]
mask = [".env"]
[env.set]
EVIL = "1"
[limits]
tmp = "4GiB"
pids = 100
[require]
walls = ["user"]
`

func TestResolve(t *testing.T) {
	l := Layers{
		User:    decodeAs(t, "user.toml", "[files]\nread = ['/home/u/ref', '/opt']\n"),
		Flags:   &Policy{Files: Files{Write: List{{"/srv/x", Source{File: "flag --rw"}}, {"/mnt", Source{File: "flag --rw"}}}}},
		Ceiling: decodeAs(t, "/etc/ringfence/policy.toml", "[files]\nwrite = ['/srv']\n[limits]\nmemory = '1GiB'\n"),
		Project: decodeAs(t, ProjectFile, project),
		Home:    "/home/u",
	}
	p, ignored := Resolve(l)
	var lines []string
	for _, c := range ignored {
		lines = append(lines, c.String())
	}
	want := []string{
		`+ [files] read "~/data"   (.ringfence.toml:2)`,
		`+ [env] set "EVIL=1"   (.ringfence.toml:5)`,
		`+ [limits] tmp "4GiB"   (.ringfence.toml:7)`,
	}
	for _, w := range WallNames()[1:] {
		want = append(want, `- [require] walls "`+w+`"   (.ringfence.toml:10)`)
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("ignored:\n%s", d)
	}
	want = []string{"~/ref/a"}
	if p.Files.Read[0].Value != want[0] || len(p.Files.Read) != 1 {
		t.Errorf("read: %v", p.Files.Read)
	}
	if len(p.Files.Write) != 1 || p.Files.Write[0].Value != "/srv/x" {
		t.Errorf("the ceiling did not bound the flags: %v", p.Files.Write)
	}
	if p.Limits.Memory.Value != 1<<30 || p.Limits.Tmp.Value != 2<<30 || p.Limits.Pids.Value != 100 {
		t.Errorf("limits: %+v", p.Limits)
	}
	if len(p.Require.Walls) != len(WallNames()) || !p.Files.Mask.has(".env") || len(p.Env.Set) != 0 {
		t.Errorf("%+v", p)
	}
}

func TestResolveTrusted(t *testing.T) {
	p, ignored := Resolve(Layers{Project: decodeAs(t, ProjectFile, project), ProjectTrusted: true})
	if ignored != nil || !p.Files.Read.has("~/data") || p.Limits.Tmp.Value != 4<<30 || len(p.Require.Walls) != 1 {
		t.Errorf("%v %+v", ignored, p)
	}
}

// A read rule in the session's own workspace protects it; tightening the list of
// reads must not hand the place over for writing.
func TestResolveKeepsHoleInOwnWorkspace(t *testing.T) {
	p, _ := Resolve(Layers{
		User:    decodeAs(t, "user.toml", "[files]\nread = ['~/w/vendor', '/opt']\n"),
		Ceiling: decodeAs(t, "/etc/ringfence/policy.toml", "[files]\nread = []\n"),
		Home:    "/home/u", Workspaces: []string{"/home/u/w"},
	})
	if len(p.Files.Read) != 1 || p.Files.Read[0].Value != "/home/u/w/vendor" {
		t.Errorf("%v", p.Files.Read)
	}
}

func TestResolveAlone(t *testing.T) {
	p, ignored := Resolve(Layers{})
	if d := cmp.Diff(Builtin(), p); d != "" || ignored != nil {
		t.Errorf("%v\n%s", ignored, d)
	}
}

func TestBuiltin(t *testing.T) {
	p := Builtin()
	var walls []string
	for _, r := range p.Require.Walls {
		walls = append(walls, r.Value)
	}
	if d := cmp.Diff(WallNames(), walls); d != "" {
		t.Errorf("not every wall is required:\n%s", d)
	}
	if got := p.Env.Pass[0].Source.String(); !strings.HasPrefix(got, "built-in:") {
		t.Errorf("source %q", got)
	}
	if problems := Check(p, CheckEnv{Home: "/home/u", Workspaces: []string{"/home/u/w"}}); problems != nil {
		t.Error(problems)
	}
	// Every variable is passed for a reason that stands beside it.
	text := string(builtin)
	for _, r := range p.Env.Pass {
		_, rest, _ := strings.Cut(text, `"`+r.Value+`",`)
		line, _, _ := strings.Cut(rest, "\n")
		if !strings.Contains(line, "# ") {
			t.Errorf("%s has no reason", r.Value)
		}
	}
}
