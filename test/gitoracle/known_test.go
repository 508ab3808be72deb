package gitoracle

import "testing"

// known are scripts of one idea each. The first three were found by people: they
// ran on the host, or wrote outside, before this suite was.
var known = []play{
	{"any repository", plain, [][]string{{
		`mkdir -p .git/objects/cc/objects .git/objects/cc/refs; fsm .git/objects/cc/config`,
		`mkdir -p .git/objects/gg/a/b; head .git/objects/gg; echo ../cc >.git/objects/gg/commondir`,
		`mkdir -p .git/modules/m/logs; ln -s ../../../objects/gg/a/b .git/modules/m/logs/lnk`,
		`point sub ../.git/modules/m/logs/lnk/../..`,
		`git rm -rq --cached sub; rm sub/keep.txt; gitlink sub`,
	}}},
	{"hostile repository", rich, [][]string{{
		`mkdir -p evil/objects evil/refs; fsm evil/config`,
		`rm -rf .git/modules/x/logs/y/refs`,
		`echo ../../../../../evil >.git/modules/x/logs/y/commondir`,
	}}},
	{"write outside the workspace", rich, [][]string{{
		`ln -s ../outside lnk`,
		`git config -f .git/modules/m/config core.worktree ../../../lnk`,
	}}},
}

func TestKnown(t *testing.T) {
	for _, p := range known {
		for _, pipeline := range pipelines {
			t.Run(p.name+"/"+pipeline, func(t *testing.T) {
				t.Parallel()
				found, err := p.perform(t, pipeline)
				if err != nil {
					t.Fatal(err)
				}
				tell(t, found)
			})
		}
	}
}

// TestQuiet sees to it that the host's own commands are not taken for findings.
func TestQuiet(t *testing.T) {
	for _, b := range []base{plain, rich} {
		found, err := play{"quiet", b, nil}.perform(t, "none")
		if err != nil {
			t.Fatal(err)
		}
		tell(t, found)
	}
}
