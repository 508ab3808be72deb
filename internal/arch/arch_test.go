package arch

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/plan"
	"ringfence.dev/ringfence/internal/policy"
)

// levels is the house. What stands on one level may use only what stands lower.
var levels = map[string]int{
	"cmd/ringfence": 7, // main, a dozen lines

	"internal/cli": 6, // one file per command

	"internal/expect": 5, // what a policy is expected to allow
	"internal/run":    5, // where the parts meet

	"internal/rung/native": 4, // one wall-builder each
	"internal/gate":        4, // the only way out to a network
	"internal/verify":      4, // the checks
	"internal/broker":      4, // the credentials, and who may use them
	"internal/reason":      4, // why

	"internal/inside":  3, // what runs inside before the agent
	"internal/rung":    3, // the interface of wall-builders
	"internal/capture": 3, // how a network ends at the gate

	"internal/workspace": 3, // what a session did to the trees of the host
	"internal/posture":   3, // how exposed machine and project are
	"internal/kept":      2, // the terminal of a session that outlives its own
	"internal/keeper":    2, // does what may change the trees of the host
	"internal/lesson":    2, // what a session wanted, and the smallest policy for it
	"internal/foreign":   2, // settings of other tools

	"internal/sign":  2, // signatures of git objects
	"internal/forge": 2, // git's own protocol

	"internal/plan":    2, // what will be done, before anything is
	"internal/environ": 2,
	"internal/host":    2, // what this host can enforce

	"internal/pretrust": 2, // what a repository makes run when it is opened

	"internal/agent":      1,
	"internal/hook":       1, // judges tool calls, in the words of the agents
	"internal/loads":      0, // what agents load from a folder, as a list
	"internal/shell":      0, // reads command lines
	"internal/footprint":  0, // what was made on a machine, to be taken away
	"internal/shadow":     2, // agents' names on PATH
	"internal/managed":    1, // the settings that an administrator gives to all
	"internal/mcp":        1, // MCP servers: the protocol, the proxy, our own
	"internal/pin":        0, // what an MCP server told of itself
	"internal/brake":      1, // supply-chain settings of package managers
	"internal/drill":      1, // known incidents, to be tried
	"internal/hostexec":   1, // what the host executes
	"internal/layer":      1, // what waits for review
	"internal/mask":       1, // secrets in a workspace
	"internal/undo":       1, // what can be brought back
	"internal/outside":    1, // what will be gone at the end
	"internal/change":     0,
	"internal/merge":      0, // texts
	"internal/notify":     0, // calls that wait for an answer
	"internal/decoy":      1, // credentials that nobody has a reason to touch
	"internal/login":      1, // the host's own logins
	"internal/model":      1, // what a model may be asked
	"internal/secret":     1, // where secrets are kept
	"internal/service":    1, // what other hosts may be asked
	"internal/sts":        1,
	"internal/catalogue":  0,
	"internal/cgroup":     1,
	"internal/control":    1,
	"internal/dns":        1,
	"internal/gitdir":     1,
	"internal/h2c":        1,
	"internal/gitobject":  0,
	"internal/hello":      0,
	"internal/jsonscan":   0,
	"internal/needle":     0, // secrets in streams of bytes
	"internal/pack":       0,
	"internal/pktline":    0,
	"internal/signclient": 1, // asks for signatures, inside
	"internal/http1":      0,
	"internal/journal":    2, // what a session did, for good
	"internal/seal":       1, // the key of this host
	"internal/policy":     1,
	"internal/probe":      1,
	"internal/seccomp":    1,
	"internal/relay":      0,
	"internal/session":    1,
	"internal/socks":      0,
	"internal/terminal":   1,
	"internal/toolchain":  1,
	"internal/wire":       1,

	"internal/address": 0, // where a connection may go
	"internal/fault":   0, // the error a person sees
	"internal/grid":    0, // texts in columns
	"internal/page":    0, // the manual, and what shells complete
	"internal/place":   0, // paths
	"internal/sarif":   0, // findings for other programs
	"internal/sys":     0, // thin system calls
}

// product reports whether a directory is part of what is shipped.
func product(dir string) bool {
	return (strings.HasPrefix(dir, "internal/") || strings.HasPrefix(dir, "cmd/")) && dir != "internal/arch"
}

func TestImportsGoDownOnly(t *testing.T) {
	all := load(t)
	for dir, files := range all {
		if !product(dir) {
			continue
		}
		level, known := levels[dir]
		if !known {
			t.Errorf("%s stands on no level: say which", dir)
		}
		own, _ := imports(files)
		for _, lower := range slices.Sorted(maps.Keys(own)) {
			if levels[lower] >= level {
				t.Errorf("%s (level %d) imports %s (level %d)", dir, level, lower, levels[lower])
			}
			if !product(lower) {
				t.Errorf("%s imports %s, which is for tests", dir, lower)
			}
		}
	}
	for dir := range levels {
		if len(all[dir]) == 0 {
			t.Errorf("%s has a level and no code", dir)
		}
	}
}

// TestRungsAreStrangers: one wall-builder never leans on another.
func TestRungsAreStrangers(t *testing.T) {
	const rungs = "internal/rung/"
	for dir, files := range load(t) {
		own, _ := imports(files)
		for other := range own {
			if strings.HasPrefix(dir, rungs) && strings.HasPrefix(other, rungs) {
				t.Errorf("%s imports its sibling %s", dir, other)
			}
		}
	}
}

// TestInsideIsSmall: what runs before the agent, with all its capabilities still
// on, is little enough to be read: the standard library, two packages from
// elsewhere, four of ours and what those stand on.
func TestInsideIsSmall(t *testing.T) {
	all := load(t)
	own, _ := imports(all["internal/inside"])
	for dir := range own {
		if !slices.Contains([]string{"internal/plan", "internal/probe", "internal/sys", "internal/wire"}, dir) {
			t.Errorf("internal/inside imports %s", dir)
		}
	}
	seen := map[string]bool{}
	for queue := []string{"internal/inside"}; len(queue) > 0; queue = queue[1:] {
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
				t.Errorf("internal/inside brings in %s by way of %s", p, dir)
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
