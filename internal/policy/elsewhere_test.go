package policy

import (
	"strings"
	"testing"
)

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
			if want := map[bool]int{false: 2, true: 1}[trusted]; len(ignored) != want { // of one that is trusted the choice alone
				t.Errorf("ignored %v", ignored)
			}
		}
	}
}

func TestMachineNames(t *testing.T) {
	for _, good := range []string{"box", "me@box", "box.example.org", "10.0.0.7", "a_b@c-d.e", "_x@y"} {
		if p, err := UseRung("ssh:"+good, "", ""); err != nil || p.Rung.SSH.Text() != good || p.Rung.Use.Text() != rungOfMachines {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "-oProxyCommand=x", "me@-x", "a b", "a\nb", "a;b", "$(x)", "a/b", "@a", "a@", "ä", "a@b@c", "[::1]", strings.Repeat("a", 300)} {
		if _, err := UseRung("ssh:"+bad, "", ""); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// A project never chooses to be sent to another machine, trusted or not, and is told.
func TestProjectStays(t *testing.T) {
	user := &Policy{Rung: Rung{SSH: &Rule{Value: "box"}}}
	project := &Policy{Rung: Rung{Use: &Rule{Value: "ssh", Source: Source{File: ".ringfence.toml", Line: 2}}}}
	for _, trusted := range []bool{false, true} {
		p, ignored := Resolve(Layers{User: user, Project: project, ProjectTrusted: trusted})
		if p.Rung.Use.Text() == "ssh" || len(ignored) != 1 || ignored[0].Value != "ssh" || ignored[0].Source.Line != 2 {
			t.Errorf("trusted %v: uses %q, ignored %v", trusted, p.Rung.Use.Text(), ignored)
		}
	}
	user.Rung.Use = &Rule{Value: "ssh"}
	if p, _ := Resolve(Layers{User: user, Project: project}); p.Rung.Use.Text() != "ssh" {
		t.Error("a person's own choice does not hold")
	}
}

// Another machine meets a demand only where it is named.
func TestMachineIsAboveNone(t *testing.T) {
	for _, c := range []struct {
		demand List
		rung   string
		ok     bool
	}{
		{nil, "ssh", true},
		{List{{Value: "native"}}, "ssh", false},
		{List{{Value: "gvisor"}}, "ssh", false},
		{List{{Value: "gvisor"}, {Value: "ssh"}}, "ssh", true},
		{List{{Value: "native"}, {Value: "ssh"}}, "gvisor", true},
		{List{{Value: "ssh"}}, "gvisor", false},
	} {
		if got := c.demand.AcceptsRung(c.rung); got != c.ok {
			t.Errorf("%v accepts %s: %v", c.demand.Values(), c.rung, got)
		}
	}
}
