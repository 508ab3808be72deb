package trees

import (
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// TestTreesGoByPath: a tree that two rules name is one tree, and one that a tighter rule
// takes is none. The plan, the store for undo and the rules are of the same trees.
func TestTreesGoByPath(t *testing.T) {
	b := launch.Base{Profile: &agent.Profile{}, Work: review.New(t.TempDir(), state.NewID())}
	b.Policy, b.Rung, b.Workspaces = &policy.Policy{}, native.Rung{}, []launch.Workspace{{Path: "/w"}}
	var total launch.Contribution
	for _, path := range []string{"/w", "/w", "/read", "/x", "/x", "/repo.git"} {
		prefix := ""
		if path == "/repo.git" {
			prefix = ".git"
		}
		total.AddTree(plan.Mount{Src: path, Dst: path}, prefix)
	}
	total.Mounts = append(total.Mounts, plan.Mount{Src: "/read", Dst: "/read"})
	total.Pinned = []string{"/x/pinned"}
	var ts Trees
	if err := ts.Keep(b, &total); err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{}
	for _, m := range total.Mounts {
		if m.View == plan.Live && m.Write {
			p.Trees = append(p.Trees, plan.Tree{Path: plan.Raw(m.Dst)})
		}
	}
	want := []string{"/w", "/x", "/repo.git"}
	var kept, work, planned []string
	for i, t := range ts.list {
		kept, work, planned = append(kept, t.Path), append(work, b.Work.Trees[i].Path), append(planned, string(p.Trees[i].Path))
	}
	if len(p.Trees) != len(want) || len(b.Work.Trees) != len(want) || !slices.Equal(kept, want) || !slices.Equal(work, want) || !slices.Equal(planned, want) {
		t.Errorf("trees %q, for undo %q, in the plan %q", kept, work, planned)
	}
	for _, tree := range p.Trees {
		own, err := treeAt(ts.list, tree.Path)
		if err != nil || own.Path != string(tree.Path) || (own.Prefix == ".git") != (tree.Path == "/repo.git") || slices.Contains(own.pinned, "pinned") != (tree.Path == "/x") {
			t.Errorf("%s: %+v %v", tree.Path, own, err)
		}
	}
	if err := ts.CoverLayers(&plan.Plan{Trees: []plan.Tree{{Path: "/elsewhere"}}}); err == nil {
		t.Error("a tree of the plan that the session does not have has no rules")
	}
}
