package cli

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/checks"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/cli/sessions"
	"ringfence.dev/ringfence/internal/fault"
)

// completionCommand prints what a shell needs to complete our command lines.
func completionCommand() *command.Command {
	cmd := &command.Command{Name: "completion", Args: "bash|zsh|fish", Short: "print the completion of a shell",
		Long:     "Prints the completion of a shell: commands, flags, agents, and the sessions that there\nare. For bash, in ~/.bashrc: source <(ringfence completion bash)",
		Examples: []string{"ringfence completion bash", "source <(ringfence completion bash)"},
		Takes:    command.Rest}
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		names := shells()
		if len(args) != 1 || !slices.Contains(names, args[0]) {
			return 2, fault.New(fault.Usage, "ringfence completion bash", "completion needs one of %s%s", strings.Join(names, ", "), command.Suggest(command.First(args), names))
		}
		_, err := c.Out.WriteString(completionOf(args[0], commands()))
		return 0, err
	}
	return cmd
}

// complete answers a shell that asks what there is of a kind, one a line. Nothing is
// told where nothing can be found: somebody is typing.
func complete(c *command.Console, args []string) int {
	if len(args) != 1 {
		return 2
	}
	var found []string
	switch kind := args[0]; kind {
	case kindSessions:
		found = sessions.Names(c)
	case kindAgents:
		found, _ = rules.Agents(c)
	case kindSecrets:
		found = rules.SecretNames(c)
	case kindDrills:
		found = checks.DrillNames()
	case kindCommands:
		for _, cmd := range commands() {
			found = append(found, cmd.Name)
		}
	default:
		return 2
	}
	slices.Sort(found)
	var b strings.Builder
	for _, w := range slices.Compact(found) {
		if oneWord(w) {
			fmt.Fprintln(&b, w)
		}
	}
	c.Out.WriteString(b.String())
	return 0
}

// oneWord: a shell would take anything else apart, or worse.
func oneWord(w string) bool {
	return w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") == ""
}
