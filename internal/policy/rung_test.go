package policy

import (
	"slices"
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

// TestSoftwareMeetsNoDemand: a machine of software is not what a demand for a machine, or for
// anything above native, means; and below a ceiling that wants one there is none.
func TestSoftwareMeetsNoDemand(t *testing.T) {
	was := rungs
	rungs = []string{"native", "gvisor", "microvm"}
	t.Cleanup(func() { rungs = was })
	software := &Policy{Rung: Rung{Use: &Rule{Value: "microvm"}, Accel: &Rule{Value: "tcg", Source: Source{File: "flag --accel"}}}}
	for _, c := range []struct {
		demand   *Policy
		tcg, kvm bool
	}{
		{&Policy{}, true, true}, {demand("native"), true, true}, {demand("gvisor"), false, true}, {demand("microvm"), false, true},
		{demand("native", "microvm"), true, true}, {demand(), false, false},
	} {
		p, _ := Resolve(Layers{User: c.demand, Flags: software})
		if got := p.AcceptsRung("microvm"); got != c.tcg {
			t.Errorf("%q with software: %v", c.demand.Require.Rung.Values(), got)
		}
		p, _ = Resolve(Layers{User: c.demand, Flags: using("microvm")})
		if got := p.AcceptsRung("microvm"); got != c.kvm {
			t.Errorf("%q with hardware: %v", c.demand.Require.Rung.Values(), got)
		}
	}
	for _, c := range []struct {
		ceiling *Policy
		want    string
	}{
		{nil, "tcg"}, {&Policy{}, "tcg"}, {using("native"), "tcg"}, {using("gvisor"), "kvm"}, {using("microvm"), "kvm"},
		{&Policy{Rung: Rung{Use: &Rule{Value: "microvm"}, Accel: &Rule{Value: "tcg"}}}, "tcg"}, // who says so knows it
		{&Policy{Rung: Rung{Accel: &Rule{Value: "kvm"}}}, "kvm"},
	} {
		if p, _ := Resolve(Layers{Ceiling: c.ceiling, Flags: software}); p.Rung.Accel.Text() != c.want {
			t.Errorf("below %+v: %q, want %q", c.ceiling, p.Rung.Accel.Text(), c.want)
		}
	}
}
