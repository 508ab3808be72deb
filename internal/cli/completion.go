package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/audit/drill"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// completion prints what a shell needs to complete our command lines.
func completionCommand() *command {
	cmd := &command{name: "completion", args: "bash|zsh|fish", short: "print the completion of a shell",
		long:     "Prints the completion of a shell: commands, flags, agents, and the sessions that there\nare. For bash, in ~/.bashrc: source <(ringfence completion bash)",
		examples: []string{"ringfence completion bash", "source <(ringfence completion bash)"},
		takes:    takesRest}
	cmd.run = func(c *console, args []string) (int, error) {
		names := shells()
		if len(args) != 1 || !slices.Contains(names, args[0]) {
			return 2, fault.New(fault.Usage, "ringfence completion bash", "completion needs one of %s%s", strings.Join(names, ", "), suggest(first(args), names))
		}
		_, err := c.out.WriteString(completionOf(args[0], commands()))
		return 0, err
	}
	return cmd
}

// complete answers a shell that asks what there is of a kind, one a line. Nothing is
// told where nothing can be found: somebody is typing.
func (c *console) complete(args []string) int {
	if len(args) != 1 {
		return 2
	}
	var found []string
	switch kind := args[0]; kind {
	case kindSessions:
		found = c.sessionWords()
	case kindAgents:
		found = c.agentWords()
	case kindSecrets:
		found = c.secretWords()
	case kindDrills:
		for _, d := range drill.All() {
			found = append(found, d.Name)
		}
	case kindCommands:
		for _, cmd := range commands() {
			found = append(found, cmd.name)
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
	c.out.WriteString(b.String())
	return 0
}

// oneWord: a shell would take anything else apart, or worse.
func oneWord(w string) bool {
	return w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") == ""
}

// sessionWords are the sessions that run and those of which something is kept.
func (c *console) sessionWords() (words []string) {
	if running, err := control.Sessions(); err == nil {
		words = running
	}
	if dirs, err := c.dirs(); err == nil {
		works, _ := review.List(dirs.State)
		for _, w := range works {
			words = append(words, w.ID, w.Name)
		}
	}
	return words
}

// agentWords are the agents that we know and those of the user.
func (c *console) agentWords() []string {
	dirs, err := c.dirs()
	if err != nil {
		return nil
	}
	words, _ := agent.Names(filepath.Join(dirs.Config, "agents"))
	return words
}

// secretWords are the secrets that a policy describes.
func (c *console) secretWords() (words []string) {
	dirs, err := c.dirs()
	if err != nil {
		return nil
	}
	for _, file := range []string{"policy.toml", policy.SecretFile} {
		if p, err := policy.Load(filepath.Join(dirs.Config, file)); err == nil && p != nil {
			for _, s := range p.Secret {
				words = append(words, s.Name)
			}
		}
	}
	return words
}
