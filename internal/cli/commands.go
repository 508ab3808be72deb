package cli

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/checks"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/cli/sessions"
)

// group is what a person looks for commands by.
type group struct {
	title    string
	commands []*command.Command
}

// groups is the whole table, but for the agents. The first are what is needed every day.
func groups() []group {
	return []group{
		{"Every day", []*command.Command{runCommand(), sessions.Diff(), sessions.Undo(), rules.Why(), sessions.PS(), rules.Postures()}},
		{"Run something else fenced", []*command.Command{shellCommand(), learnCommand()}},
		{"Sessions", []*command.Command{sessions.Status(), sessions.Exec(), sessions.Attach(), sessions.Detach(), sessions.Output(), sessions.Stop(), sessions.Thaw(), sessions.RM()}},
		{"What a session changed", []*command.Command{sessions.Apply(), sessions.Discard(), sessions.History()}},
		{"What is allowed", []*command.Command{sessions.Requests(), sessions.Grant(), sessions.Publish(), sessions.Log(), rules.Env(), rules.Policy(), rules.Secret(), rules.Trust()}},
		{"How exposed you are", []*command.Command{checks.Audit(), rules.Scan(), checks.Doctor(), checks.Rungs(), checks.Verify(), checks.Drill()}},
		{"Make it the default", []*command.Command{rules.Init(), checks.Install(), checks.Uninstall(), checks.Hook(), rules.MCP(), sessions.GC()}},
		{"ringfence itself", []*command.Command{completionCommand(), manCommand(), versionCommand(), helpCommand()}},
	}
}

// agents are those that we know; help has one line for them all.
func agents() []*command.Command {
	return []*command.Command{
		agentCommand("claude", "run Claude Code in a sandbox", "ringfence claude", "ringfence claude -- -p 'fix the failing test'", "ringfence claude --review --net locked -- -p 'tidy up'"),
		agentCommand("codex", "run Codex in a sandbox", "ringfence codex -- exec 'fix the failing test'"),
		agentCommand("gemini", "run Gemini CLI in a sandbox", "ringfence gemini -- -m gemini-2.5-flash -p 'fix the failing test'"),
		agentCommand("opencode", "run opencode in a sandbox", "ringfence opencode -- run 'fix the failing test'"),
	}
}

// commands are all of them, in that order.
func commands() []*command.Command {
	all := agents()
	for _, g := range groups() {
		all = append(all, g.commands...)
	}
	return all
}

// oldNames go with the next release. They are in no list.
func oldNames() []*command.Command {
	inspect := sessions.Status()
	inspect.Flags.Set("json", "true")
	renamed := func(cmd *command.Command, old, now string) *command.Command {
		cmd.Name, cmd.Instead = old, fmt.Sprintf("`ringfence %s` goes with the next release: use `ringfence %s`", old, now)
		cmd.Long = cmd.Instead + ".\n\n" + cmd.Long
		return cmd
	}
	return []*command.Command{renamed(sessions.Output(), "logs", "output"), renamed(inspect, "inspect", "status --json")}
}
