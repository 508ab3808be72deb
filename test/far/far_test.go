// Package far plays suites over a link: their sandboxes stand at a far end on this machine,
// as a test build has it. Nothing in the suites knows of that.
package far

import (
	"os"
	"os/exec"
	"testing"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/tier"
)

// suites are what is played, on which of the two loops, and the part of it where not everything is.
var suites = []struct{ name, loop, part string }{
	{"netattack", built.SharedLoop, "TestAttacks/(control|flag-plain|two-sessions|published|killed|rebound|crowded|second-hello)$"},
	{"netfaults", built.SharedLoop, "Kill|TestEnd|MuteOrigin"},
	{"work", built.OverLoop, "TestDays|TestFarEndDies|TestLateMask|TestDiskFull"},
	{"sessions", built.SharedLoop, "TestAttach|Hangup|ExecTerminal|TestKilled|ExecKeeps|ExecEnds|ExecUnread|ExecStopped|ExecWalls"},
}

func TestOverALink(t *testing.T) {
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			args := []string{"test", "-count=1", "-vet=off", "-timeout", "30m", "ringfence.dev/ringfence/test/" + s.name}
			if !tier.All() {
				args = append(args, "-run", s.part)
			}
			c := exec.Command("go", args...)
			c.Env = append(os.Environ(), built.RungEnv+"="+s.loop)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
