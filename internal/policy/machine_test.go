package policy

import "testing"

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
