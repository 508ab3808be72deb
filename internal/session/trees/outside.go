package trees

import (
	"errors"
	"fmt"
	"os"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// watchOutside keeps hold of the throw-away places of a sandbox once the witness has
// seen the walls, and before the agent runs.
func (k *Changes) watchOutside(p *plan.Plan, witness func(rung.Seen) error) func(rung.Seen) error {
	return func(seen rung.Seen) error {
		if witness != nil {
			if err := witness(seen); err != nil {
				return err
			}
		}
		k.rootOf = seen.Root
		if k.Asked.Passing || seen.Root == nil {
			return nil
		}
		k.outside.Close() // of a launch that did not succeed
		k.holdLayers(p)
		var err error
		if k.outside, err = k.openOutside(p); err != nil {
			k.run.Tell(fmt.Sprintf("what is written outside the workspace will be gone without a list of it: %v", err))
		}
		return nil
	}
}

// openRoot opens the root that the agent has.
func (k *Changes) openRoot() (*os.File, error) {
	if k.rootOf == nil {
		return nil, errReach
	}
	return k.rootOf()
}

func (k *Changes) openOutside(p *plan.Plan) (*review.Throwaway, error) {
	root, err := k.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	judge := review.OutsideJudge{Home: k.User.Home}
	for _, ws := range k.Workspaces {
		judge.Workspaces = append(judge.Workspaces, ws.Path)
		if ws.Given != ws.Path {
			judge.Workspaces = append(judge.Workspaces, ws.Given)
		}
	}
	var at []string
	for _, o := range p.Ops {
		if o.Do == plan.DoTmpfs {
			at = append(at, string(o.Dst))
		}
	}
	return review.OpenThrowaway(int(root.Fd()), at, judge)
}

// firstOutside warns once, when something is written that will be gone.
func (k *Changes) firstOutside(ended <-chan struct{}) {
	if k.outside == nil {
		return
	}
	err := k.outside.First(ended, func(first review.OutsideName) {
		k.run.Warn(plan.Show(first.Path) + " is outside the workspace and will be gone at the end; write into the workspace, or start with --workspace PATH for another directory")
	})
	if err != nil && !errors.Is(err, os.ErrClosed) {
		k.run.Tell(fmt.Sprintf("what is written outside the workspace is listed at the end only: %v", err))
	}
}

// endOutside tells what is gone now, also in the journal.
func (k *Changes) endOutside(report *review.Report) {
	if k.outside == nil {
		return
	}
	found := k.outside.Find()
	k.outside.Close()
	k.outside = nil
	if report == nil || len(found.Items) == 0 && !found.More {
		return
	}
	report.Outside = found
	var paths []string
	for _, i := range found.Items {
		paths = append(paths, i.Path)
	}
	k.run.Record(journal.Split(journal.Record{Kind: journal.Work, Event: journal.NotKept, Count: found.Files}, paths)...)
}
