package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// room is a folder of the house with all that is in it.
type room struct {
	name  string
	level int // what is in it may use only rooms that stand lower
	says  string
}

// rooms is the house, from the roof down. docs/design.md shows the same.
var rooms = []room{
	{"cmd/ringfence", 8, "main: which role of the binary this process has"},
	{"internal/cli", 7, "one file a command: flags, printing, exit status; the only writer to a terminal"},
	{"internal/session", 6, "prepares a session, starts it, waits for it, ends it"},
	{"internal/explain", 5, "why something is refused, what a session wanted, tests and imports of a policy"},
	{"internal/network", 5, "the only way out: decides, dials, relays, records"},
	{"internal/audit", 4, "what a project and this machine expose; what a repository runs when it is opened"},
	{"internal/credentials", 4, "keeps the real credentials, and lends them request by request"},
	{"internal/workspace", 3, "what a session does to the trees of the host: hold, review, apply, undo, mask"},
	{"internal/sandbox", 3, "the walls: the plan, who raises it, what runs inside, how it is proved"},
	{"internal/registry", 3, "the registry door: fetches packages from the host's own registries, proves and keeps them"},
	{"internal/install", 3, "the fenced agent on PATH, the settings of an organisation"},
	{"internal/policy", 2, "what is allowed: keys, layers, agents, toolchains, the environment"},
	{"internal/git", 2, "strict readers of repositories, objects, packs and git's protocol"},
	{"internal/journal", 2, "the record of a session: chained, signed, verified, exported"},
	{"internal/state", 2, "where things are kept: directories, projects, sessions"},
	{"internal/mcp", 2, "messages of MCP, the proxy that watches tools, our own server"},
	{"internal/address", 1, "host names, rules about them, ranges that are closed"},
	{"internal/fault", 1, "the error that a person sees, with the one command that helps"},
	{"internal/file", 1, "paths, settings with comments, and thin system calls on files"},
	{"internal/injection", 1, "judges text from outside: does it try to give the agent orders?"},
	{"internal/leakscan", 1, "finds secrets in streams of bytes"},
	{"internal/strictjson", 1, "JSON that everybody reads alike"},
}

// roomOf is where a package is.
func roomOf(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/")
}

func levelOf(dir string) (int, bool) {
	at := slices.IndexFunc(rooms, func(r room) bool { return r.name == roomOf(dir) })
	if at < 0 {
		return 0, false
	}
	return rooms[at].level, true
}

// product reports whether a directory is part of what is shipped.
func product(dir string) bool {
	return strings.HasPrefix(dir, "internal/") || strings.HasPrefix(dir, "cmd/")
}

func TestImportsGoDownOnly(t *testing.T) {
	all := load(t)
	for dir, files := range all {
		if !product(dir) {
			continue
		}
		level, known := levelOf(dir)
		if !known {
			t.Errorf("%s is in no room: say which", dir)
		}
		own, _ := imports(files)
		for _, lower := range slices.Sorted(maps.Keys(own)) {
			if its, _ := levelOf(lower); its >= level && roomOf(lower) != roomOf(dir) {
				t.Errorf("%s (level %d) imports %s (level %d)", dir, level, lower, its)
			}
			if !product(lower) {
				t.Errorf("%s imports %s, which is for tests", dir, lower)
			}
		}
	}
	for _, r := range rooms {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(dir string) bool { return roomOf(dir) == r.name }) {
			t.Errorf("%s is a room without code", r.name)
		}
	}
}

// TestWallsNeedNoAdvice: what holds the agent never depends on what only tells of it.
func TestWallsNeedNoAdvice(t *testing.T) {
	base := []string{"internal/sandbox", "internal/network", "internal/credentials", "internal/workspace"}
	advice := []string{"internal/audit", "internal/explain", "internal/install"}
	for dir, files := range load(t) {
		own, _ := imports(files)
		for other := range own {
			if slices.Contains(base, roomOf(dir)) && slices.Contains(advice, roomOf(other)) {
				t.Errorf("%s imports %s", dir, other)
			}
		}
	}
}

// TestDesignShowsTheHouse: the page has this table, and each room's packages below it.
func TestDesignShowsTheHouse(t *testing.T) {
	all := load(t)
	var want strings.Builder
	for _, r := range rooms {
		fmt.Fprintf(&want, "%d  %-21s %s\n", r.level, r.name, r.says)
		var in []string
		for dir := range all {
			if name, ok := strings.CutPrefix(dir, r.name+"/"); ok {
				in = append(in, name)
			}
		}
		slices.Sort(in)
		for line := ""; len(in) > 0; in = in[1:] {
			if line += " " + in[0]; len(line) > 60 || len(in) == 1 {
				fmt.Fprintf(&want, "%-24s%s\n", "", line)
				line = ""
			}
		}
	}
	page, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/design.md does not show this:\n%s", want.String())
	}
}

// TestInsideIsSmall: what runs before the agent, with all its capabilities still
// on, is little enough to be read: the standard library, two packages from
// elsewhere, five of ours and what those stand on.
func TestInsideIsSmall(t *testing.T) {
	all := load(t)
	own, _ := imports(all["internal/sandbox/inside"])
	for dir := range own {
		if !slices.Contains([]string{"internal/sandbox/plan", "internal/sandbox/probe", "internal/file/sys", "internal/sandbox/sentry", "internal/sandbox/wire"}, dir) {
			t.Errorf("internal/sandbox/inside imports %s", dir)
		}
	}
	seen := map[string]bool{}
	for queue := []string{"internal/sandbox/inside"}; len(queue) > 0; queue = queue[1:] {
		dir := queue[0]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		own, foreign := imports(all[dir])
		queue = append(queue, slices.Collect(maps.Keys(own))...)
		for p := range foreign {
			first, _, _ := strings.Cut(p, "/")
			elsewhere := strings.Contains(first, ".")
			if elsewhere && !slices.Contains([]string{"golang.org/x/sys/unix", "github.com/landlock-lsm/go-landlock/landlock"}, p) {
				t.Errorf("internal/sandbox/inside brings in %s by way of %s", p, dir)
			}
		}
	}
}

func TestPackagesAreDocumentedAndNamed(t *testing.T) {
	for dir, files := range load(t) {
		if strings.Contains("|util|utils|common|manager|helper|helpers|misc|shared|pkg|", "|"+path.Base(dir)+"|") {
			t.Errorf("%s: a package is named by one noun of the domain", dir)
		}
		if !slices.ContainsFunc(files, func(f source) bool { return f.Doc != nil }) {
			t.Errorf("%s has no package comment", dir)
		}
		for _, f := range files {
			if name := f.Name.Name; product(dir) && name != "main" && strings.TrimSuffix(name, "_test") != path.Base(dir) {
				t.Errorf("%s is package %s", f.path, name)
			}
		}
	}
}

// TestFunctionsFitAScreen watches the tail: it is what tells loved code from
// unloved.
func TestFunctionsFitAScreen(t *testing.T) {
	const most = 80
	for _, files := range load(t) {
		for _, f := range files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > most {
					t.Errorf("%s: %s has %d lines, %d are the most", f.path, fn.Name.Name, n, most)
				}
			}
		}
	}
}

// TestWallsHaveOneList: policy stands below plan and so spells the walls itself.
func TestWallsHaveOneList(t *testing.T) {
	var names []string
	for _, w := range plan.AllWalls() {
		names = append(names, string(w))
	}
	if !slices.Equal(names, policy.WallNames()) {
		t.Errorf("plan has the walls %q, policy %q", names, policy.WallNames())
	}
}
