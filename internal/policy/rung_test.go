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
