package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

func TestEnding(t *testing.T) {
	report := &review.Report{Work: &review.Work{Trees: []review.Tree{{Path: "/p"}}}}
	const many = 5000
	for i := range many {
		report.Entries = append(report.Entries, review.Entry{Change: change.Change{Path: fmt.Sprintf("dir/file-%d", i)}, State: review.OnHost, Rank: hostexec.Source})
	}
	report.Entries = append(report.Entries, review.Entry{Change: change.Change{Path: ".envrc"}, State: review.Waits, Rank: hostexec.Unasked})
	out := ending(&Result{OOM: 2, Forks: 3, Review: report})
	changed := 0
	var rest []string
	for _, r := range out {
		if r.Event == journal.Changed {
			changed += len(r.List.All())
			continue
		}
		rest = append(rest, fmt.Sprint(r.Event, " ", r.Name, r.State, r.List.All(), r.Count))
	}
	want := []string{"waits unasked[/p/.envrc] 0", "limit memory[] 2", "limit processes[] 3", "exit exited[] 0"}
	if changed != many || !slices.Equal(rest, want) {
		t.Errorf("%d changed, then %q", changed, rest)
	}
}

// TestGiven: what is recorded as given is what somebody gave, by whom, and never a value
// of a variable.
func TestGiven(t *testing.T) {
	flag := policy.Source{File: "flag --ro"}
	file := policy.Source{File: "/home/u/policy.toml", Line: 3}
	p := &policy.Policy{
		Files:   policy.Files{Read: policy.List{{Value: "/a", Source: flag}, {Value: "/b", Source: file}, {Value: "/c", Source: flag}}, Expose: policy.List{{Value: "~/.aws", Source: file}}},
		Env:     policy.Env{Pass: policy.List{{Value: "LANG", Source: policy.Source{File: builtIn, Line: 2}}}, Set: []policy.Setting{{Name: "TOKEN", Value: "hunter2", Source: file}}},
		Network: policy.Network{Mode: &policy.Rule{Value: "none", Source: flag}},
	}
	got := fmt.Sprint(given(p))
	want := "[{read flag --ro [/a /c]} {read /home/u/policy.toml [/b]} {expose /home/u/policy.toml [~/.aws]} {net flag --ro [none]} {set /home/u/policy.toml [TOKEN]}]"
	if got != want || strings.Contains(got, "hunter2") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := sourcesOf(given(p)); !slices.Equal(got, []string{"flag --ro", "/home/u/policy.toml"}) {
		t.Errorf("%q", got)
	}
}
