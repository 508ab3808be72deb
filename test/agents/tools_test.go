package agents

import (
	"strings"
	"testing"
)

// A program that is not there: the agent is told in its note how to ask, its own shell says it
// too, and what it gets is the command for its human.
func TestMissingTool(t *testing.T) {
	eachAgent(t, 1, func(t *testing.T, a agent) {
		p := newPerson(t, a)
		p.pay()
		one := p.project(t, "one")
		asked := p.converse(t, one, a.begin, firstPrompt, use(p.agent.shell("bash -c nosuchcommand")), use(p.agent.shell("get-tool npm:frob")), say("that is all"))
		for _, want := range []string{"run `get-tool NAME`", "get-tool nosuchcommand  says where it can come from", "ringfence tools add npm:frob"} {
			if !strings.Contains(asked, want) {
				t.Errorf("the model was not told %q", want)
			}
		}
	})
}
