package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/audit/hook"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/session"
)

// hookAgents are those whose protocol is known.
var hookAgents = []string{"claude", "codex", "gemini"}

// hookCommand answers an agent that asks before it does something. What goes wrong is
// told by status 2, which stops the call in every agent: silence would let it pass.
func hookCommand(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "[AGENT] [flags]", "Reads a tool call from stdin, as an agent's hooks send it, and answers in the\n"+
		"agent's words. AGENT is claude, codex or gemini.")
	check := f.String("check", "", "judge this `COMMAND` line instead: exit 0 passes, 1 does not")
	gate := f.Bool("gate", false, "refuse prompts and tools outside of a sandbox")
	agent := "claude"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		agent, args = args[0], args[1:]
	}
	if err := c.parseAll(f, args); err != nil {
		return 2, err
	}
	if !slices.Contains(hookAgents, agent) {
		return 2, fault.New(fault.Usage, "one of: "+strings.Join(hookAgents, ", "), "hook: no protocol is known of %q", agent)
	}
	where := hook.Where{Home: c.getenv("HOME"), Git: hook.Repository}
	if where.Dir, _ = os.Getwd(); where.Dir == "" {
		where.Dir = "/"
	}
	if isSet(f, "check") {
		return c.hookCheck(*check, where), nil
	}
	call, err := hook.ReadCall(c.in)
	if err != nil {
		return 2, err
	}
	if strings.HasPrefix(call.Dir, "/") {
		where.Dir = call.Dir
	}
	g := hook.Gate{On: *gate}
	if g.On {
		if g.Inside = hook.Inside(session.NotePath); !g.Inside {
			if g.Bare, err = hook.Bare(hook.BarePath); err != nil {
				fmt.Fprintf(c.err, "ringfence: warning: %s\n", inert(err.Error()))
			}
		}
	}
	answer, _ := hook.Answer(agent, call, where, g)
	if _, err := c.out.WriteString(answer); err != nil {
		return 2, err
	}
	return 0, nil
}

// hookCheck is the form for people.
func (c *context) hookCheck(line string, where hook.Where) int {
	v := hook.Judge(line, where)
	if v.Decision == hook.Pass {
		fmt.Fprintln(c.out, "pass")
		return 0
	}
	fmt.Fprintf(c.out, "%s  %s  %s\n", v.Decision, v.Rule, inert(v.Reason))
	return 1
}
