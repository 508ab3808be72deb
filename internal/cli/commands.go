package cli

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/checks"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/cli/sessions"
)

// entry is a command that is made when somebody wants it: to make them all takes longer than
// what some of them do.
type entry struct {
	name string
	make func() *command.Command
}

// group is what a person looks for commands by.
type group struct {
	title   string
	entries []entry
}

// commands are those of the group.
func (g group) commands() []*command.Command { return made(g.entries) }

func made(entries []entry) []*command.Command {
	var all []*command.Command
	for _, e := range entries {
		all = append(all, e.make())
	}
	return all
}

// groups is the whole table, but for the agents. The first are what is needed every day.
func groups() []group {
	return []group{
		{"Every day", []entry{{"run", runCommand}, {"diff", sessions.Diff}, {"undo", sessions.Undo}, {"why", rules.Why}, {"ps", sessions.PS}, {"postures", rules.Postures}}},
		{"Run something else fenced", []entry{{"shell", shellCommand}, {"learn", learnCommand}}},
		{"Sessions", []entry{{"status", sessions.Status}, {"exec", sessions.Exec}, {"attach", sessions.Attach}, {"detach", sessions.Detach}, {"output", sessions.Output}, {"stop", sessions.Stop}, {"thaw", sessions.Thaw}, {"rm", sessions.RM}}},
		{"What a session changed", []entry{{"apply", sessions.Apply}, {"discard", sessions.Discard}, {"history", sessions.History}}},
		{"What is allowed", []entry{{"requests", sessions.Requests}, {"grant", sessions.Grant}, {"revoke", sessions.Revoke}, {"tighten", sessions.Tighten}, {"publish", sessions.Publish}, {"log", sessions.Log}, {"env", rules.Env}, {"policy", rules.Policy}, {"secret", rules.Secret}, {"trust", rules.Trust}}},
		{"How exposed you are", []entry{{"audit", checks.Audit}, {"scan", rules.Scan}, {"doctor", checks.Doctor}, {"rungs", checks.Rungs}, {"verify", checks.Verify}, {"drill", checks.Drill}}},
		{"Make it the default", []entry{{"init", rules.Init}, {"install", checks.Install}, {"uninstall", checks.Uninstall}, {"hook", checks.Hook}, {"mcp", rules.MCP}, {"gc", sessions.GC}}},
		{"ringfence itself", []entry{{"completion", completionCommand}, {"man", manCommand}, {"version", versionCommand}, {"help", helpCommand}}},
	}
}

// agents are those that we know; help has one line for them all.
func agents() []entry {
	return []entry{
		agentEntry("claude", "run Claude Code in a sandbox", "ringfence claude", "ringfence claude -- -p 'fix the failing test'", "ringfence claude --review --net locked -- -p 'tidy up'"),
		agentEntry("codex", "run Codex in a sandbox", "ringfence codex -- exec 'fix the failing test'"),
		agentEntry("gemini", "run Gemini CLI in a sandbox", "ringfence gemini -- -m gemini-2.5-flash -p 'fix the failing test'"),
		agentEntry("opencode", "run opencode in a sandbox", "ringfence opencode -- run 'fix the failing test'"),
	}
}

func agentEntry(name, short string, examples ...string) entry {
	return entry{name, func() *command.Command { return agentCommand(name, short, examples...) }}
}

// entries are all of them, in that order.
func entries() []entry {
	all := agents()
	for _, g := range groups() {
		all = append(all, g.entries...)
	}
	return all
}

// commands are all of them, made.
func commands() []*command.Command { return made(entries()) }

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
