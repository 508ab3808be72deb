package policy

import (
	"slices"
	"strings"
	"testing"
)

// ladder gives the test three rungs, whatever this release has.
func ladder(t *testing.T) {
	was := rungs
	rungs = []string{"native", "mid", "high"}
	t.Cleanup(func() { rungs = was })
}

func using(name string) *Policy {
	if name == "" {
		return &Policy{}
	}
	return &Policy{Rung: Rung{Use: &Rule{Value: name}}}
}

func demand(names ...string) *Policy {
	p := &Policy{Require: Require{Rung: List{}}}
	for _, n := range names {
		p.Require.Rung = append(p.Require.Rung, Rule{Value: n})
	}
	return p
}

// A project raises the rung and never lowers it, trusted or not.
func TestProjectOnlyRaises(t *testing.T) {
	ladder(t)
	for _, trusted := range []bool{false, true} {
		for _, c := range []struct{ user, project, flag, want string }{
			{"native", "high", "", "high"}, {"high", "native", "", "high"}, {"mid", "", "", "mid"}, {"", "mid", "", "mid"},
			{"native", "high", "mid", "mid"}, // the user who types it outranks a file
		} {
			p, ignored := Resolve(Layers{User: Merge(using("native"), using(c.user)), Project: using(c.project), ProjectTrusted: trusted, Flags: using(c.flag)})
			if got := p.Rung.Use.Text(); got != c.want {
				t.Errorf("trusted %v, user %q, project %q, flag %q: %q, want %q", trusted, c.user, c.project, c.flag, got, c.want)
			}
			if lower := c.user == "high" && c.project == "native" && !trusted; lower != (len(ignored) == 1) {
				t.Errorf("user %q, project %q: ignored %v", c.user, c.project, ignored)
			}
		}
	}
}

// What one demands no other takes back, and a demand is met by what is above it.
func TestDemandsAdd(t *testing.T) {
	ladder(t)
	for _, c := range []struct {
		user, project []string
		want          []string
	}{
		{nil, nil, []string{"native", "mid", "high"}},
		{nil, []string{"mid"}, []string{"mid", "high"}},
		{[]string{"mid"}, nil, []string{"mid", "high"}},
		{[]string{"mid"}, []string{"native"}, []string{"mid", "high"}},
		{[]string{"mid"}, []string{"high"}, []string{"high"}},
		{[]string{"native", "mid"}, []string{"native"}, []string{"native", "mid", "high"}},
		{[]string{"native", "high"}, []string{"mid"}, []string{"high"}},
		{[]string{"high"}, []string{}, nil}, // nothing is content with nothing
	} {
		for _, trusted := range []bool{false, true} {
			l := Layers{User: using("native"), Project: using(""), ProjectTrusted: trusted}
			if c.user != nil {
				l.User.Require = demand(c.user...).Require
			}
			if c.project != nil {
				l.Project.Require = demand(c.project...).Require
			}
			p, _ := Resolve(l)
			var got []string
			for _, name := range rungs {
				if p.Require.Rung.AcceptsRung(name) {
					got = append(got, name)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("trusted %v, %q and %q accept %q, want %q", trusted, c.user, c.project, got, c.want)
			}
		}
	}
}

// The ceiling raises what a flag asks for.
func TestCeilingRaises(t *testing.T) {
	ladder(t)
	p, _ := Resolve(Layers{Ceiling: using("high"), Flags: using("mid")})
	if got := p.Rung.Use.Text(); got != "high" {
		t.Errorf("it is %q", got)
	}
}

// A project names no machine, trusted or not.
func TestProjectNamesNoMachine(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		for _, own := range []string{"", "mine"} {
			user := using("native")
			if own != "" {
				user.Rung.SSH = &Rule{Value: own}
			}
			project := using(rungOfMachines)
			project.Rung.SSH = &Rule{Value: "theirs"}
			p, ignored := Resolve(Layers{User: user, Project: project, ProjectTrusted: trusted})
			if got := p.Rung.SSH.Text(); got != own {
				t.Errorf("trusted %v: the machine is %q, not %q", trusted, got, own)
			}
			if !trusted && len(ignored) != 1 {
				t.Errorf("ignored %v", ignored)
			}
		}
	}
}

func TestMachineNames(t *testing.T) {
	for _, good := range []string{"box", "me@box", "box.example.org", "10.0.0.7", "a_b@c-d.e", "_x@y"} {
		if p, err := UseRung("ssh:"+good, ""); err != nil || p.Rung.SSH.Text() != good || p.Rung.Use.Text() != rungOfMachines {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "-oProxyCommand=x", "me@-x", "a b", "a\nb", "a;b", "$(x)", "a/b", "@a", "a@", "ä", "a@b@c", "[::1]", strings.Repeat("a", 300)} {
		if _, err := UseRung("ssh:"+bad, ""); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
