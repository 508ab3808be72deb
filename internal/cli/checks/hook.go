package checks

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/audit/hook"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/git/safe"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/state"
)

// hookAgents are those whose protocol is known.
var hookAgents = []string{"claude", "codex", "gemini"}

// Hook answers an agent that asks before it does something. What goes wrong is
// told by status 2, which stops the call in every agent: silence would let it pass.
func Hook() *command.Command {
	cmd := &command.Command{Name: "hook", Args: "[AGENT] [flags]", Short: "judge a tool call of an agent, for its hooks",
		Long: "Reads a tool call from stdin, as an agent's hooks send it, and answers in the\n" +
			"agent's words. AGENT is claude, codex or gemini.",
		Examples: []string{"ringfence hook --check 'rm -rf build'"},
		Takes:    command.One}
	f := &cmd.Flags
	check := f.String("check", "", "judge this `COMMAND` line instead: exit 0 passes, 1 does not")
	gate := f.Bool("gate", false, "refuse prompts and tools outside of a sandbox")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		agent := cmp.Or(command.First(args), "claude")
		if !slices.Contains(hookAgents, agent) {
			return 2, fault.New(fault.Usage, "one of: "+strings.Join(hookAgents, ", "), "hook: no protocol is known of %q", agent)
		}
		home := c.Getenv("HOME")
		where := hook.Where{Home: home, Git: hook.Repository, Work: hook.Worktrees(home, hookGit(c)), Belt: hook.ReadBelt(launch.BeltPath)}
		if where.Dir, _ = os.Getwd(); where.Dir == "" {
			where.Dir = "/"
		}
		if f.IsSet("check") {
			return hookCheck(c, *check, where), nil
		}
		call, err := hook.ReadCall(c.In)
		if err != nil {
			return 2, err
		}
		if strings.HasPrefix(call.Dir, "/") {
			where.Dir = call.Dir
		}
		g := hook.Gate{On: *gate}
		if g.On {
			if g.Inside = hook.Inside(launch.NotePath); !g.Inside {
				if g.Bare, err = hook.Bare(hook.BarePath); err != nil {
					c.Warn(err.Error())
				}
			}
		}
		answer, _ := hook.Answer(agent, call, where, g)
		if _, err := c.Out.WriteString(answer); err != nil {
			return 2, err
		}
		return 0, nil
	}
	return cmd
}

// hookCheck is the form for people.
func hookCheck(c *command.Console, line string, where hook.Where) int {
	v := hook.Judge(line, where)
	if v.Decision == hook.Pass {
		fmt.Fprintln(c.Out, "pass")
		return 0
	}
	fmt.Fprintf(c.Out, "%s  %s  %s\n", v.Decision, v.Rule, command.Inert(v.Reason))
	return 1
}

// hookGit finds the git that looks at a worktree. Inside all programs are the agent's already;
// outside, none runs that lies where it writes files without a question.
func hookGit(c *command.Console) func(tree string) safe.Git {
	return func(tree string) safe.Git {
		if launch.Nested() {
			at, _ := exec.LookPath("git")
			return safe.Git(at)
		}
		dirs, err := c.Dirs()
		if err != nil {
			return ""
		}
		at, _ := dirs.Program("git", c.Getenv("PATH"), state.Below(tree))
		return safe.Git(at)
	}
}
