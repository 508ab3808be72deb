package policy

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// probes are all paths of up to four parts over the alphabet of the generators.
var probes = func() []string {
	all, last := []string{"/"}, []string{"/"}
	for range 4 {
		var next []string
		for _, dir := range last {
			for _, name := range []string{"a", "b", "c"} {
				next = append(next, path.Join(dir, name))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}()

// lookup is what a policy gives at a path, worked out anew and without an index,
// so that it can judge the code under test.
func lookup(p *Policy, s scope, at string) access {
	covers := func(dir string) bool { return at == dir || dir == "/" || strings.HasPrefix(at, dir+"/") }
	best, depth := absent, -1
	var dirs []string
	see := func(v string, a access) {
		dir := Expand(v, s.home)
		n := len(strings.Split(strings.Trim(dir, "/"), "/"))
		if dir == "/" {
			n = 0
		}
		if covers(dir) && (n > depth || n == depth && a > best) {
			best, depth = a, n
		}
	}
	for _, r := range s.roots {
		see(r, writable)
		dirs = append(dirs, r)
	}
	for _, r := range p.Workspace.Paths {
		dir, ro := strings.CutSuffix(r.Value, ":ro")
		see(dir, map[bool]access{true: readable, false: writable}[ro])
		dirs = append(dirs, dir)
	}
	for _, r := range p.Files.Write {
		see(r.Value, writable)
	}
	for _, r := range p.Files.Read {
		see(r.Value, readable)
	}
	for _, m := range p.Files.Mask {
		if m.Value[0] == '/' || m.Value[0] == '~' {
			if covers(Expand(m.Value, s.home)) {
				return absent
			}
			continue
		}
		for _, d := range dirs {
			if covers(Expand(path.Join(d, m.Value), s.home)) {
				return absent
			}
		}
	}
	return best
}

// variable is what the sandbox gets for a name: nothing, a fixed value, or the host's.
func variable(p *Policy, name string) (value string, host bool) {
	for _, s := range p.Env.Set {
		if s.Name == name {
			return s.Value, false
		}
	}
	return "", p.Env.Pass.has(name)
}

// wider names the first thing that p allows and base does not, or "".
func wider(s scope, base, p *Policy) string {
	for _, at := range probes {
		if got, most := lookup(p, s, at), lookup(base, s, at); got > most {
			return fmt.Sprintf("access %d at %s, was %d", got, at, most)
		}
		if exposes(s, p, at) && !exposes(s, base, at) {
			return "exposes " + at
		}
	}
	for _, name := range []string{"A", "B", "C"} {
		v, host := variable(p, name)
		bv, bhost := variable(base, name)
		if host && !bhost || v != "" && v != bv {
			return fmt.Sprintf("variable %s: %q %v, was %q %v", name, v, host, bv, bhost)
		}
		if p.Env.Force.has(name) && !base.Env.Force.has(name) {
			return "forces " + name
		}
	}
	for i := range keys {
		if k := &keys[i]; k.limit != nil && k.section == "limits" {
			if l, b := *k.limit(p), *k.limit(base); b != nil && (l == nil || l.Value > b.Value) {
				return "limit " + k.name
			}
		}
	}
	if w := widerNetwork(base, p) + widerBroker(base, p) + widerWorkspace(s, base, p) + widerSupply(base, p) + widerTools(base, p); w != "" {
		return w
	}
	if p.Agent.innerStrength() < base.Agent.innerStrength() {
		return "the agent's own sandbox"
	}
	if p.unnamedWidth() > base.unnamedWidth() {
		return "MCP servers that nobody names"
	}
	if p.hitStrength() < base.hitStrength() {
		return "what follows a hit"
	}
	for _, w := range WallNames() {
		if needs(base, w) && !needs(p, w) {
			return "wall " + w
		}
	}
	for _, r := range base.Require.Limits {
		if !p.Require.Limits.has(r.Value) {
			return "required limit " + r.Value
		}
	}
	return ""
}

func needs(p *Policy, wall string) bool { return p.Require.Walls == nil || p.Require.Walls.has(wall) }

func exposes(s scope, p *Policy, at string) bool {
	for _, r := range p.Files.Expose {
		if dir := Expand(r.Value, s.home); dir == "/" || at == dir || strings.HasPrefix(at, dir+"/") {
			return true
		}
	}
	return false
}

func drawList(t *rapid.T, label string, value *rapid.Generator[string]) List {
	if rapid.Bool().Draw(t, label+" unwritten") {
		return nil
	}
	out := List{}
	for _, v := range rapid.SliceOfNDistinct(value, 0, 3, rapid.ID[string]).Draw(t, label) {
		out = append(out, Rule{Value: v})
	}
	return out
}

func drawLimit(t *rapid.T, label string) *Limit {
	if n := rapid.Int64Range(0, 4).Draw(t, label); n > 0 {
		return &Limit{Value: n << 20}
	}
	return nil
}

// drawPolicy makes policies whose paths meet often. ~ is one of them if tilde is set.
func drawPolicy(t *rapid.T, label string, tilde bool) *Policy {
	prefixes := "/"
	if tilde {
		prefixes = "(/|~/)"
	}
	file := rapid.StringMatching(prefixes + "[abc](/[abc]){0,2}")
	mask := rapid.StringMatching("(" + prefixes + ")?[abc](/[abc])?")
	name := rapid.SampledFrom([]string{"A", "B", "C"})
	p := &Policy{
		Workspace: drawWorkspace(t, label, tilde),
		Files: Files{Read: drawList(t, label+" read", file), Write: drawList(t, label+" write", file),
			Mask: drawList(t, label+" mask", mask), Expose: drawList(t, label+" expose", file)},
		Env: Env{Pass: drawList(t, label+" pass", name), Force: drawList(t, label+" force", name)},
		Limits: Limits{Pids: drawLimit(t, label+" pids"), Memory: drawLimit(t, label+" memory"), Share: drawLimit(t, label+" share"), Tmp: drawLimit(t, label+" tmp"),
			Home: drawLimit(t, label+" home"), Shm: drawLimit(t, label+" shm"), Open: drawLimit(t, label+" open")},
		Require: Require{Walls: drawList(t, label+" walls", rapid.SampledFrom(WallNames())),
			Limits: drawList(t, label+" required", rapid.SampledFrom(limitNames))},
	}
	for _, r := range drawList(t, label+" set", name) {
		p.Env.Set = append(p.Env.Set, Setting{Name: r.Value, Value: rapid.SampledFrom([]string{"x", "y"}).Draw(t, label+" value")})
	}
	p.Network = drawNetwork(t, label)
	if word := rapid.SampledFrom(append([]string{""}, unnamedWords...)).Draw(t, label+" unnamed"); word != "" {
		p.Unnamed = &Rule{Value: word}
	}
	p.Broker, p.Secret, p.Supply, p.Tools = drawBroker(t, label), drawSecrets(t, label), drawSupply(t, label), drawTools(t, label)
	if word := rapid.SampledFrom(append([]string{""}, innerWords...)).Draw(t, label+" inner"); word != "" {
		p.Agent.Inner = &Rule{Value: word}
	}
	if word := rapid.SampledFrom(append([]string{""}, hitWords...)).Draw(t, label+" on-hit"); word != "" {
		p.Scan.OnHit = &Rule{Value: word}
	}
	return p
}

func drawScope(t *rapid.T) scope {
	s := scope{home: rapid.SampledFrom([]string{"/a", "/a/b", "/c"}).Draw(t, "home")}
	if rapid.Bool().Draw(t, "own workspace") {
		s.roots = []string{rapid.StringMatching("/[abc](/[abc])?").Draw(t, "root")}
	}
	return s
}

func TestTightenNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScope(t)
		base, over := drawPolicy(t, "base", true), drawPolicy(t, "over", true)
		before := base.clone()
		if w := wider(s, base, s.tighten(base, over)); w != "" {
			t.Fatalf("wider than base: %s", w)
		}
		if d := cmp.Diff(before, base); d != "" {
			t.Fatalf("base was changed:\n%s", d)
		}
	})
}

func TestTightenWithoutHome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, over := drawPolicy(t, "base", false), drawPolicy(t, "over", false)
		if w := wider(scope{}, base, Tighten(base, over)); w != "" {
			t.Fatalf("wider than base: %s", w)
		}
	})
}

// A ceiling that writes every list of paths bounds every path.
func TestTightenStaysUnderCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scope{home: "/a"}
		base, over := drawPolicy(t, "base", true), drawPolicy(t, "over", true)
		for _, l := range []*List{&over.Workspace.Paths, &over.Files.Read, &over.Files.Write} {
			if *l == nil {
				*l = List{}
			}
		}
		out := s.tighten(base, over)
		for _, at := range probes {
			if got, most := lookup(out, s, at), lookup(over, s, at); got > most {
				t.Fatalf("access %d at %s, the ceiling gives %d", got, at, most)
			}
		}
	})
}

func TestTightenByItselfChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScope(t)
		p := drawPolicy(t, "p", true)
		out := s.tighten(p, p)
		if w := wider(s, p, out) + wider(s, out, p); w != "" {
			t.Fatal(w)
		}
	})
}

func TestNoWideningMeansMergeDoesNotWiden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScope(t)
		base, over := drawPolicy(t, "base", true), drawPolicy(t, "over", true)
		if rapid.Bool().Draw(t, "start from base") { // else hardly any pair has none
			over = s.tighten(base, over)
		}
		if len(s.widens(base, over)) > 0 {
			return
		}
		if w := wider(s, base, Merge(base, over)); w != "" {
			t.Fatalf("not reported: %s", w)
		}
	})
}

// The negative control: where Merge does widen, wider sees it.
func TestMergeWidens(t *testing.T) {
	base := mustDecode(t, "[files]\nread = ['/a']\n[require]\nwalls = ['user', 'mount']\n"+
		"[network]\nmode = 'dev'\nallow = ['webhook.site']\n[network.budget]\n'a.test' = '1KB'\n"+
		"[workspace]\npaths = ['/c']\nview = 'review'\nreveal = ['a', '/c/b/*']\nmask = ['c']\nundo = '1GiB'\nundo-file = '1MiB'\n[supply]\nage = '3d'\nallow = ['npm:a*']\n[tools]\ndefault = 'none'\nallow = ['npm:a']\n"+
		"[broker]\nsecrets = ['a']\nsign = false\n[secret.a]\nuse = 'npm'\ndeny = ['GET /a']\n[secret.b]\nuse = 'npm'\n")
	for _, text := range []string{
		"[files]\nwrite = ['/a/b']\n", "[files]\nread = ['/b']\n", "[files]\nexpose = ['/a']\n", "[workspace]\npaths = ['/b:ro']\n",
		"[env]\npass = ['A']\n", "[env]\nforce = ['A']\n", "[env.set]\nA = 'x'\n", "[require]\nwalls = ['user']\n",
		"[network]\nmode = 'internet'\n", "[network]\ngroups = ['+haskell']\n", "[network]\ngroups = ['-drops']\n",
		"[network]\nallow = ['b.a.test']\n", "[network]\nip = ['10.0.0.0/16:80']\n", "[network]\npublish = [80]\n",
		"[network]\nhost-ports = [80]\n", "[network]\nproxy = 'env'\n", "[network.budget]\n'a.test' = '2KB'\n",
		"[broker]\nsecrets = ['b']\n", "[broker]\nmodel-allow = ['mcp']\n", "[broker]\ngit = ['force']\n", "[broker]\nrepos = ['a/b']\n",
		"[workspace]\nview = 'live'\n", "[workspace]\nreveal = ['c']\n", "[workspace]\nreveal = ['/c/c']\n", "[workspace]\npaths = ['/c/c']\n",
		"[workspace]\nundo = 0\n", "[workspace]\nundo = '2GiB'\n", "[workspace]\nundo-file = '0'\n",
		"[supply]\nage = '71h'\n", "[supply]\nage = '0'\n", "[supply]\nscripts = true\n", "[supply]\nallow = ['a']\n", "[supply]\nallow = ['pypi:a']\n",
		"[tools]\ndefault = 'ask'\n", "[tools]\nallow = ['npm:b']\n",
		"[broker]\ndecoys = false\n", "[broker]\nsign = true\n", "[secret.a]\nuse = 'npm'\n", "[secret.a]\nuse = 'pypi'\ndeny = ['GET /a']\n",
	} {
		over := mustDecode(t, text)
		if wider(scope{}, base, Merge(base, over)) == "" || len(Widens(base, over)) != 1 {
			t.Errorf("%q widens and is not seen: %v", text, Widens(base, over))
		}
		if w := wider(scope{}, base, Tighten(base, over)); w != "" {
			t.Errorf("%q: %s", text, w)
		}
	}
}
