package cli

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy/agent"
)

// forAgent splits what was typed behind the name of an agent. Flags of ours come first; the
// first word that is none of ours begins what the agent gets, and so does --. A flag of
// ours behind that could be either's, or come from a text that somebody else wrote: then
// nothing starts. Nor does it for a flag that is nearly one of ours and none that the agent
// is known for: who mistyped --review must not go on without it.
func forAgent(cmd *command.Command, known, args []string) (ours, theirs []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, valued, dashed := flagName(arg)
		own := cmd.Flags.Lookup(name)
		if own != nil && own.Usage == "" && slices.Contains(known, name) {
			own = nil // another spelling of ours gives way
		}
		switch {
		case arg == "--":
			return ours, append(theirs, args[i+1:]...), nil
		case dashed && own != nil && len(theirs) > 0:
			return nil, nil, unclear(cmd.Name, arg, name, known, args, i)
		case dashed && len(theirs) == 0 && (own != nil || name == "h" || name == "help"):
			ours = append(ours, arg)
			if takesValue(own) && !valued && i+1 < len(args) {
				i++
				ours = append(ours, args[i])
			}
		default:
			if near := nearFlag(cmd, name); dashed && near != "" && !slices.Contains(known, name) {
				return nil, nil, fault.New(fault.Usage, fmt.Sprintf("ringfence %s -- %s", cmd.Name, strings.Join(args[i:], " ")),
					"%s: did you mean --%s? What is meant for the agent and looks like a flag of ringfence goes behind --", arg, near)
			}
			theirs = append(theirs, arg)
		}
	}
	return ours, theirs, nil
}

// flagName is the name of the flag that a word is, if it is one.
func flagName(arg string) (name string, valued, dashed bool) {
	name, dashed = strings.CutPrefix(arg, "-")
	name = strings.TrimPrefix(name, "-")
	name, _, valued = strings.Cut(name, "=")
	return name, valued, dashed && name != ""
}

func takesValue(f *flag.Flag) bool {
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

// unclear says how a flag that stands among the agent's can be meant.
func unclear(agentName, arg, name string, known, args []string, at int) error {
	all := strings.Join(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--" }), " ")
	if slices.Contains(known, name) {
		return fault.New(fault.Usage, fmt.Sprintf("for the agent: ringfence %s -- %s", agentName, all),
			"both ringfence and the agent know %s: put it first for ringfence, and behind -- for the agent", arg)
	}
	first := slices.Concat(args[at:], []string{"--"}, args[:at])
	if at+1 < len(args) {
		first = slices.Concat([]string{arg, "…"}, args[:at])
	}
	return fault.New(fault.Usage, fmt.Sprintf("ringfence %s %s", agentName, strings.Join(first, " ")),
		"%s is a flag of ringfence and stands behind what goes to the agent: put it first, or behind -- if the agent is to have it", arg)
}

// nearFlag is the flag of ours that somebody may have meant.
func nearFlag(cmd *command.Command, typed string) (near string) {
	if len(typed) < 4 {
		return ""
	}
	most := 2
	cmd.Flags.VisitAll(func(f *flag.Flag) {
		if n := fault.Distance(typed, f.Name, most); len(f.Name) >= 4 && f.Usage != "" && n <= most && (n < 2 || len(typed) > 5) {
			near, most = f.Name, n-1
		}
	})
	return near
}

// knownFlags are those that an agent is known to have.
func knownFlags(c *command.Console, name string) []string {
	dirs, err := c.Dirs()
	if err != nil {
		return nil
	}
	p, err := agent.Load(name, filepath.Join(dirs.Config, "agents"))
	if err != nil {
		return nil
	}
	return p.Flags
}
