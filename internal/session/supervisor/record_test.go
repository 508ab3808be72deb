package supervisor

import (
	"fmt"
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
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
