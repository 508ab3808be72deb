package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// shape is a session without what is drawn anew each time: the values of phantoms and
// decoys. Their lengths stay.
func shape(s *Session) string {
	var b strings.Builder
	for _, o := range s.Plan.Ops {
		size := len(o.Data)
		if strings.Contains(o.Why, "certificate") { // whose length is drawn too
			size = 0
		}
		fmt.Fprintf(&b, "%s %s %s %v %o %d %q\n", o.Do, o.Dst, o.Src, o.Write, o.Mode, size, o.Why)
	}
	for _, e := range s.Env.Entries {
		fmt.Fprintf(&b, "env %s %v %v\n", e.Name, e.Kind, e.Source)
	}
	for i, t := range s.Trees.list {
		fmt.Fprintf(&b, "tree %s %s %s %q\n", s.work.Trees[i].Path, s.work.Trees[i].View, t.prefix, t.pinned)
	}
	for _, h := range s.brokered.hosts {
		fmt.Fprintf(&b, "host %+v\n", h)
	}
	fmt.Fprintf(&b, "%d sites, argv %d, warnings %q, notices %q, keys %q, dropped %q, reach %v\n", len(s.brokered.sites), len(s.Plan.Process.Argv),
		s.Warnings, s.Notices, s.Keys, s.Dropped, s.Reach.Allow)
	return b.String()
}

// launched are sessions that have much of everything.
func launched(t *testing.T) map[string]Options {
	t.Helper()
	s := newStand(t)
	s.environ = append(s.environ, "CORP=corp-0123456789abcdef", "GHT=ghp_0123456789abcdef", "ANTHROPIC_API_KEY=sk-ant-api03-0123456789abcdef")
	s.policy("[secret.corp]\nuse = \"bearer\"\nfrom = \"env:CORP\"\nhosts = [\"api.corp.test\"]\nenv = [\"PH_CORP\"]\n" +
		"[secret.gh]\nuse = \"github\"\nfrom = \"env:GHT\"\n[secret.gone]\nuse = \"bearer\"\nfrom = \"env:GONE\"\nhosts = [\"gone.test\"]\noff = true\n" +
		"[mcp.mine]\ncommand = [\"/usr/bin/true\"]\n")
	s.git("[remote \"origin\"]\n\turl = https://github.com/alice/work.git\n")
	s.put(s.dir+"/.env", "TOKEN=0123456789abcdef0123456789abcdef\n")
	s.put(s.dir+"/.claude/settings.json", `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"sh evil"}]}]}}`)
	s.put(".gitconfig", "[user]\n\tname = A\n\temail = a@b.test\n")
	s.put(".claude/settings.json", `{"theme":"dark"}`)
	out := map[string]Options{}
	for name, opt := range map[string]Options{
		"run":    {Agent: agent.Command, Args: []string{"/bin/true"}, Flags: &policy.Policy{}},
		"review": {Agent: agent.Command, Args: []string{"/bin/true"}, Flags: &policy.Policy{Workspace: policy.Workspace{View: &policy.Rule{Value: string(plan.Review)}}}},
		"none":   {Agent: agent.Command, Args: []string{"/bin/true"}, Flags: &policy.Policy{Network: policy.Network{Mode: &policy.Rule{Value: modeNone}}}},
		"mask":   {Agent: agent.Command, Args: []string{"/bin/true"}, Flags: &policy.Policy{Files: policy.Files{Mask: policy.List{{Value: ".env"}}}}},
	} {
		opt.Dir, opt.Environ, opt.Look = s.dir, s.environ, true
		out[name] = opt
	}
	return out
}

// TestOrderOfPartsDoesNotMatter: no part reads what another left. Whichever is asked
// first, the sum is the same.
func TestOrderOfPartsDoesNotMatter(t *testing.T) {
	for name, opt := range launched(t) {
		b, err := decideLaunch(opt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		make := func(list []part) string {
			t.Helper()
			fresh, err := decideLaunch(opt) // the journal of trees is the session's own
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			b.work, b.view = fresh.work, fresh.view
			all, err := prepareParts(b, list)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s, err := compose(b, all)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer s.Close()
			return strings.ReplaceAll(shape(s), fresh.ID, b.ID)
		}
		want := make(parts())
		if name == "run" && (!strings.Contains(want, "api.corp.test") || !strings.Contains(want, "masked") || !strings.Contains(want, "nobody has trusted")) {
			t.Errorf("this launch has too little to be a proof:\n%s", want)
		}
		for seed := range uint64(6) {
			list := parts()
			rand.New(rand.NewPCG(seed, 7)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			if got := make(list); got != want {
				g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
				for i := range min(len(g), len(w)) {
					if g[i] != w[i] {
						t.Fatalf("%s, seed %d: line %d:\n%s\nwant\n%s", name, seed, i, g[i], w[i])
					}
				}
				t.Fatalf("%s, seed %d: %d lines, want %d", name, seed, len(g), len(w))
			}
		}
	}
}

// TestSumHasAPlaceForAll: what is prepared is also summed up, once.
func TestSumHasAPlaceForAll(t *testing.T) {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	for _, l := range looks() {
		names = append(names, l.name)
	}
	slices.Sort(names)
	all := slices.Clone(rank)
	slices.Sort(all)
	if !slices.Equal(names, all) {
		t.Errorf("prepared: %q\nsummed up: %q", names, all)
	}
}

// TestSumDecides: what two parts say of one thing is decided here, not by who came last.
func TestSumDecides(t *testing.T) {
	own := brokered{}
	own.own("api.test", "it is the model's")
	for _, names := range [][2]string{{"models", "hosts"}, {"hosts", "models"}} {
		all := sum{
			names[0]: {brokered: own, files: []plan.File{{Dst: "/w/.env", Data: []byte("phantom")}}, links: []plan.Link{{At: "/a", To: "/b"}}},
			names[1]: {brokered: brokered{closed: []brokeredHost{shutHost("api.test", "off"), shutHost("other.test", "off")}}, others: []plan.File{{Dst: "/w/.env", Data: []byte("mended")}},
				links: []plan.Link{{At: "/a/c", To: "/d"}, {At: "/m/x", To: "/d"}}, mounts: []plan.Mount{{Src: "/m", Dst: "/m"}}},
		}
		total := all.total()
		if len(total.brokered.hosts) != 2 || total.brokered.hosts[0].why != "it is the model's" || total.brokered.hosts[1].name != "other.test" {
			t.Errorf("%v: hosts %+v", names, total.brokered.hosts)
		}
		if len(total.files) != 1 || string(total.files[0].Data) != "mended" {
			t.Errorf("%v: files %q", names, total.files)
		}
		if got := total.shownLinks(); len(got) > 2 || slices.ContainsFunc(got, func(l plan.Link) bool { return l.At == "/m/x" }) {
			t.Errorf("%v: links %v", names, got)
		}
	}
}
