package policy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// partsMatch reads a glob in the plainest way, to judge the code under test.
func partsMatch(glob, at []string) bool {
	switch {
	case len(glob) == 0:
		return len(at) == 0
	case glob[0] == "**":
		return partsMatch(glob[1:], at) || len(at) > 0 && partsMatch(glob, at[1:])
	case len(at) == 0:
		return false
	case strings.Contains(glob[0], "*"):
		if ok, err := path.Match(glob[0], at[0]); err != nil || !ok {
			return false
		}
	case glob[0] != at[0]:
		return false
	}
	return partsMatch(glob[1:], at[1:])
}

func splitPath(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(part string) bool { return part == "" })
}

// secrecy is what a policy says of secrets in files. A name counts wherever it
// stands, a path from every place that is in view.
type secrecy struct{ masks, reveal [][]string }

func newSecrecy(p *Policy, s scope) (out secrecy) {
	places := slices.Clone(s.roots)
	for _, g := range Grants(p, s.home) {
		places = append(places, g.Path)
	}
	for _, m := range p.Workspace.Mask {
		glob := m.Value + "/**" // and what is below it
		switch {
		case strings.HasPrefix(glob, "**/"):
			out.masks = append(out.masks, splitPath(glob))
		case !strings.Contains(m.Value, "/"):
			out.masks = append(out.masks, splitPath("**/"+glob))
		default:
			for _, dir := range places {
				out.masks = append(out.masks, splitPath(dir+"/"+glob))
			}
		}
	}
	for _, r := range p.Workspace.Reveal {
		if glob := Expand(r.Value, s.home); glob[0] == '/' {
			out.reveal = append(out.reveal, splitPath(glob))
			continue
		}
		for _, dir := range places {
			out.reveal = append(out.reveal, splitPath(dir+"/"+r.Value))
		}
	}
	return out
}

func anyMatch(globs [][]string, at []string) bool {
	return slices.ContainsFunc(globs, func(glob []string) bool { return partsMatch(glob, at) })
}

func widerWorkspace(s scope, base, p *Policy) string {
	now, was := newSecrecy(p, s), newSecrecy(base, s)
	for _, at := range probes {
		parts := splitPath(at)
		if anyMatch(now.reveal, parts) && !anyMatch(was.reveal, parts) ||
			anyMatch(was.masks, parts) && !anyMatch(now.masks, parts) && lookup(p, s, at) != absent {
			return "shows the secrets of " + at
		}
	}
	if base.Workspace.Reviewed() && !p.Workspace.Reviewed() {
		return "live"
	}
	for _, k := range []string{"undo", "undo-file"} {
		limit := findKey("workspace", k).limit
		if now, was := *limit(p), *limit(base); (now == nil) != (was == nil) || now != nil && now.Value != was.Value {
			return k
		}
	}
	return ""
}

func drawWorkspace(t *rapid.T, label string, tilde bool) Workspace {
	prefixes := "/"
	if tilde {
		prefixes = "(/|~/)"
	}
	sizes := rapid.SampledFrom([]*Limit{nil, {Value: 0}, {Value: 1 << 20}, {Value: 3}})
	return Workspace{
		Paths:  drawList(t, label+" paths", rapid.StringMatching(prefixes+"[abc](/[abc])?(:ro)?")),
		View:   drawWord(t, label+" view", views...),
		Mask:   drawList(t, label+" secret", rapid.StringMatching(`([abc*]|\*\*)(/([abc*]|\*\*)){0,2}`)),
		Reveal: drawList(t, label+" reveal", rapid.StringMatching("("+prefixes+`)?([abc*]|\*\*)(/([abc*]|\*\*)){0,2}`)),
		Undo:   sizes.Draw(t, label+" undo"), UndoFile: sizes.Draw(t, label+" undo file"), UndoTotal: drawLimit(t, label+" undo total"),
	}
}

// drawPlaces is a policy about files and nothing else.
func drawPlaces(t *rapid.T, label string) *Policy {
	file := rapid.StringMatching("/[abc](/[abc]){0,2}")
	return &Policy{Workspace: drawWorkspace(t, label, true),
		Files: Files{Read: drawList(t, label+" read", file), Write: drawList(t, label+" write", file)}}
}

// The same properties with nothing but files in the way: these meet more often.
func TestWorkspaceTightens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScope(t)
		base, over := drawPlaces(t, "base"), drawPlaces(t, "over")
		if w := wider(s, base, s.tighten(base, over)); w != "" {
			t.Fatalf("wider than base: %s", w)
		}
		if rapid.Bool().Draw(t, "start from base") {
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

// A ceiling bounds what it writes, whoever asked.
func TestCeilingBoundsWorkspace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScope(t)
		l := Layers{User: drawPlaces(t, "user"), Flags: drawPlaces(t, "flags"), Project: drawPlaces(t, "project"), Ceiling: drawPlaces(t, "ceiling"),
			ProjectTrusted: rapid.Bool().Draw(t, "trusted"), Home: s.home, Workspaces: s.roots}
		p, _ := Resolve(l)
		c := &l.Ceiling.Workspace
		if c.Reviewed() && !p.Workspace.Reviewed() {
			t.Fatal("live")
		}
		if c.Undo != nil && p.Workspace.Undo.Value != c.Undo.Value || p.Workspace.Undo == nil || p.Workspace.UndoFile == nil {
			t.Fatal("undo")
		}
		for _, m := range c.Mask {
			if !p.Workspace.Mask.has(m.Value) {
				t.Fatalf("mask %s is gone", m.Value)
			}
		}
		if c.Reveal != nil && len(c.Reveal) == 0 && len(p.Workspace.Reveal) > 0 {
			t.Fatalf("reveals %v", p.Workspace.Reveal)
		}
	})
}

func TestGlobCovers(t *testing.T) {
	part := `([ab*]|a\*|\*b|\*\*)`
	glob := rapid.StringMatching(part + "(/" + part + "){0,3}")
	var names []string
	for _, dir := range []string{"", "a/", "b/", "ab/", "a/b/", "b/a/"} {
		names = append(names, dir+"a", dir+"b", dir+"ab", dir+"ba", dir+"bab")
	}
	rapid.Check(t, func(t *rapid.T) {
		p, v := glob.Draw(t, "p"), glob.Draw(t, "v")
		if !globCovers(p, p) || !globCovers("**", p) {
			t.Fatalf("neither itself nor ** covers %s", p)
		}
		if !globCovers(p, v) {
			return
		}
		for _, n := range names {
			if at := splitPath(n); partsMatch(splitPath(v), at) && !partsMatch(splitPath(p), at) {
				t.Fatalf("%s covers %s, and only that means %s", p, v, n)
			}
		}
	})
}

func TestGlobs(t *testing.T) {
	for v, want := range map[string][2]bool{
		"secrets.yaml": {true, true}, "deploy/*.key": {true, true}, "**/x": {true, true}, "a/**": {true, true}, "[ab]?": {true, true}, `\*`: {true, true}, "**": {true, true}, ".env": {true, true},
		"/a/b": {false, true}, "~/a/*": {false, true}, "": {}, "/": {}, "~/": {}, "~": {}, "~root/x": {}, "a/": {}, "a//b": {}, "../a": {}, "a/../b": {}, "./a": {}, "a/.": {},
		"a**": {}, "a/**b": {}, "***": {}, "[a": {}, `a\`: {}, "a/[/]": {}, "a\x00": {}, "a\nb": {}, "\xff": {}, strings.Repeat("a", maxGlob+1): {},
	} {
		if mask, reveal := Admit("workspace", "mask", v), Admit("workspace", "reveal", v); (mask == nil) != want[0] || (reveal == nil) != want[1] {
			t.Errorf("%.40q: %v, %v", v, mask, reveal)
		}
		for k, at := range map[string]int{patternGlob: 0, patternReveal: 1} {
			if want[at] && !regexp.MustCompile(k).MatchString(v) {
				t.Errorf("the schema refuses %q", v)
			}
		}
	}
}

func TestTightenWorkspace(t *testing.T) {
	for _, c := range []struct{ name, base, over, want string }{
		{"review", "view = 'live'", "view = 'review'", `view = "review"`},
		{"stays review", "view = 'review'", "view = 'live'", `view = "review"`},
		{"masks join", "mask = ['a']", "mask = ['b', 'a']", `mask = [ "a", "b", ]`},
		{"reveals shrink", "reveal = ['a/*', 'b']", "reveal = ['a/x', 'c']", `reveal = [ "a/x", ]`},
		{"none revealed", "reveal = ['a']", "reveal = []", `reveal = []`},
		{"none to reveal", "", "reveal = ['a']", `reveal = []`},
		{"in a workspace", "paths = ['/w']\nreveal = ['/w/t/x', '/v/t/x']", "paths = ['/w']\nreveal = ['t/**']", `paths = [ "/w", ] reveal = [ "/w/t/x", ]`},
		{"undo stays", "undo = '1GiB'\nundo-file = '1MiB'", "undo = '2GiB'\nundo-file = 0", `undo = "1GiB" undo-file = "1MiB"`},
		{"a mask loses its workspace", "paths = ['/w/a', '/w']\nmask = ['d/k', 'n', '**/m/k']", "paths = ['/w']", `paths = [ "/w/a", "/w", ] mask = [ "d/k", "n", "**/m/k", ]`},
		{"a workspace in another", "paths = ['/w']\nreveal = ['d/k']", "paths = ['/w', '/w/a']", `paths = [ "/w", "/w/a", ] reveal = [ "/w/d/k", ]`},
	} {
		got := rules(t, Tighten(mustDecode(t, "[workspace]\n"+c.base), mustDecode(t, "[workspace]\n"+c.over)))
		if got = strings.TrimPrefix(got, "[workspace] "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	base := mustDecode(t, "workspace.paths = ['/w/a']\nworkspace.mask = ['d/k', 'n', '**/m/k']\nfiles.write = ['/w']\n")
	if out := Tighten(base, mustDecode(t, "workspace.paths = []\n")); !out.Workspace.Mask.has("**/d/k") || len(out.Workspace.Mask) != 4 {
		t.Errorf("%v", out.Workspace.Mask)
	}
	if out := Tighten(mustDecode(t, "workspace.reveal = ['/w/a']\n"), mustDecode(t, "workspace.reveal = ['/w/*']\n")); !out.Workspace.Reveal.has("/w/a") {
		t.Errorf("%v", out.Workspace.Reveal)
	}
}

func TestPinnedRevealsAreBounded(t *testing.T) {
	var base, over Policy
	for i := range 100 {
		base.Workspace.Paths = append(base.Workspace.Paths, Rule{Value: fmt.Sprintf("/w/%d", i)})
		base.Workspace.Reveal = append(base.Workspace.Reveal, Rule{Value: fmt.Sprintf("d/%d", i)})
	}
	over.Workspace.Paths = append(slices.Clone(base.Workspace.Paths), Rule{Value: "/w/1/x"})
	if n := len(Tighten(&base, &over).Workspace.Reveal); n != 0 {
		t.Errorf("%d are revealed", n)
	}
	base.Workspace.Reveal = base.Workspace.Reveal[:3]
	out := Tighten(&base, &over).Workspace.Reveal
	if len(out) != 300 || !slices.ContainsFunc(out, func(r Rule) bool { return r.Value == path.Join("/w/99", "d/2") }) {
		t.Errorf("%d are revealed", len(out))
	}
}

// What the user asks for outright and the ceiling forbids stops a launch, with both
// places named. A project's word is not the user's.
func TestCeilingOfReview(t *testing.T) {
	ceiling := decodeAs(t, "/etc/ringfence/policy.toml", "[workspace]\nview = 'review'\n")
	live, review := decodeAs(t, "user.toml", "[workspace]\nview = 'live'\n"), decodeAs(t, "user.toml", "[workspace]\nview = 'review'\n")
	flag := func(v string) *Policy {
		return &Policy{Workspace: Workspace{View: &Rule{v, Source{File: "flag --" + v}}}}
	}
	const says = `the view live is asked for here, and /etc/ringfence/policy.toml:2 says review for everybody`
	for name, c := range map[string]struct {
		layers Layers
		view   string
		source string // of the problem
	}{
		"built-in":        {Layers{}, "live", ""},
		"ceiling":         {Layers{Ceiling: ceiling}, "review", ""},
		"flag":            {Layers{Flags: flag("review")}, "review", ""},
		"back":            {Layers{User: review, Flags: flag("live")}, "live", ""},
		"user, ceiling":   {Layers{User: live, Ceiling: ceiling}, "review", "user.toml:2"},
		"flag, ceiling":   {Layers{User: review, Flags: flag("live"), Ceiling: ceiling}, "review", "flag --live"},
		"yields":          {Layers{User: live, Flags: flag("review"), Ceiling: ceiling}, "review", ""},
		"project":         {Layers{Project: review}, "review", ""},
		"no project":      {Layers{User: review, Project: live}, "review", ""},
		"trusted":         {Layers{User: review, Project: live, ProjectTrusted: true}, "live", ""},
		"trusted, bound":  {Layers{Project: live, ProjectTrusted: true, Ceiling: ceiling}, "review", ""},
		"flag, project":   {Layers{Project: review, Flags: flag("live")}, "live", ""},
		"ceiling of live": {Layers{User: live, Ceiling: live}, "live", ""},
	} {
		p, ignored := Resolve(c.layers)
		if p.Workspace.View.Value != c.view {
			t.Errorf("%s: %v", name, p.Workspace.View)
		}
		if (name == "no project") != (len(ignored) == 1) {
			t.Errorf("%s: ignored %v", name, ignored)
		}
		var want []Problem
		if c.source != "" {
			want = []Problem{{p.Refused[0].Source, says}}
		}
		if d := cmp.Diff(want, Check(p, CheckEnv{})); d != "" || c.source != "" && p.Refused[0].Source.String() != c.source {
			t.Errorf("%s: %v\n%s", name, p.Refused, d)
		}
	}
}

func TestCheckReveals(t *testing.T) {
	p := Merge(decodeAs(t, "user.toml", "[workspace]\nmask = ['a', 'b']\nreveal = ['a', '/w/b']\n"),
		decodeAs(t, ProjectFile, "[workspace]\nmask = ['c']\n"))
	p = Merge(p, &Policy{Workspace: Workspace{Reveal: List{{"c", Source{File: "flag --reveal"}}}}})
	want := []Problem{{Source{"user.toml", 3}, `"a" is to be revealed here and masked in user.toml:2: say one`}}
	if d := cmp.Diff(want, Check(p, CheckEnv{})); d != "" {
		t.Error(d)
	}
}

const workspace = `[workspace]
view = "review"
mask = ["deploy/*.key", "**/dump-?.sql"]
reveal = ["testdata/**", "~/w/.env"]
undo = "2GiB"
undo-file = 0
[supply]
age = "72h"
scripts = true
allow = ["npm:@acme/*", "pypi:requests", "left-pad"]
`

func TestDecodeWorkspace(t *testing.T) {
	got := mustDecode(t, workspace)
	at := func(line int) Source { return Source{"p.toml", line} }
	want := &Policy{
		Workspace: Workspace{View: &Rule{"review", at(2)}, Mask: List{{"deploy/*.key", at(3)}, {"**/dump-?.sql", at(3)}},
			Reveal: List{{"testdata/**", at(4)}, {"~/w/.env", at(4)}}, Undo: &Limit{2 << 30, at(5)}, UndoFile: &Limit{0, at(6)}},
		Supply: Supply{Age: &Rule{"72h", at(8)}, Scripts: &Flag{true, at(9)}, Allow: List{{"npm:@acme/*", at(10)}, {"pypi:requests", at(10)}, {"left-pad", at(10)}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	roundTrip(t, got)
	if l := mustDecode(t, "workspace.undo = '0'\n").Workspace.Undo; l == nil || l.Value != 0 {
		t.Errorf("%v", l)
	}
	for _, text := range []string{"workspace.undo = '0MiB'", "workspace.undo = '2GB'", "workspace.undo = '00'", "limits.tmp = '0'", "limits.tmp = 0", "workspace.view = true", "supply.age = 0", "supply.scripts = 'no'"} {
		if _, err := Decode(strings.NewReader(text), "p.toml"); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}
