package policy

import "testing"

// Sharing conversations is the user's to say: a project's file only after trust, and never
// against the ceiling.
func TestHistoryIsTheUsers(t *testing.T) {
	say := func(word string) *Policy {
		return &Policy{Agent: Agent{History: &Rule{Value: word, Source: Source{File: word}}}}
	}
	shared, private := say(SharedHistory), say(PrivateHistory)
	for name, tt := range map[string]struct {
		layers  Layers
		shares  bool
		ignored int
	}{
		"nobody":                     {Layers{}, false, 0},
		"the user":                   {Layers{User: shared}, true, 0},
		"a project":                  {Layers{Project: shared}, false, 1},
		"a project that is trusted":  {Layers{Project: shared, ProjectTrusted: true}, true, 0},
		"a project against it":       {Layers{User: shared, Project: private}, false, 0},
		"the ceiling against it":     {Layers{User: shared, Ceiling: private}, false, 0},
		"the ceiling alone for it":   {Layers{Ceiling: shared}, false, 0},
		"the ceiling against a flag": {Layers{Flags: shared, Ceiling: private}, false, 0},
	} {
		p, ignored := Resolve(tt.layers)
		if p.Agent.Shares() != tt.shares || len(ignored) != tt.ignored {
			t.Errorf("%s: shared %v, ignored %v", name, p.Agent.Shares(), ignored)
		}
	}
}
