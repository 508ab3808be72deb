package cli

// group is what a person looks for commands by.
type group struct {
	title    string
	commands []*command
}

// groups is the whole table, but for the agents. The first are what is needed every day.
func groups() []group {
	return []group{
		{"Every day", []*command{runCommand(), diffCommand(), undoCommand(), whyCommand(), psCommand()}},
		{"Run something else fenced", []*command{shellCommand(), learnCommand()}},
		{"Sessions", []*command{statusCommand(), execCommand(), attachCommand(), detachCommand(), outputCommand(), stopCommand(), thawCommand(), rmCommand()}},
		{"What a session changed", []*command{applyCommand(), discardCommand()}},
		{"What is allowed", []*command{requestsCommand(), grantCommand(), logCommand(), envCommand(), policyCommand(), secretCommand(), trustCommand()}},
		{"How exposed you are", []*command{auditCommand(), scanCommand(), doctorCommand(), verifyCommand(), drillCommand()}},
		{"Make it the default", []*command{initCommand(), installCommand(), uninstallCommand(), hookCommand(), mcpCommand(), gcCommand()}},
		{"ringfence itself", []*command{completionCommand(), manCommand(), versionCommand(), helpCommand()}},
	}
}

// agents are those that we know; help has one line for them all.
func agents() []*command {
	return []*command{
		agentCommand("claude", "run Claude Code in a sandbox", "ringfence claude", "ringfence claude -- -p 'fix the failing test'", "ringfence claude --review --net locked -- -p 'tidy up'"),
		agentCommand("codex", "run Codex in a sandbox", "ringfence codex -- exec 'fix the failing test'"),
		agentCommand("gemini", "run Gemini CLI in a sandbox", "ringfence gemini -- -m gemini-2.5-flash -p 'fix the failing test'"),
		agentCommand("opencode", "run opencode in a sandbox", "ringfence opencode -- run 'fix the failing test'"),
	}
}

// commands are all of them, in that order.
func commands() []*command {
	all := agents()
	for _, g := range groups() {
		all = append(all, g.commands...)
	}
	return all
}

// oldNames go with the next release. They are in no list.
func oldNames() []*command {
	logs, inspect := outputCommand(), statusCommand()
	inspect.flags.Set("json", "true")
	for name, cmd := range map[string]*command{"logs": logs, "inspect": inspect} {
		cmd.instead = "`ringfence " + name + "` goes with the next release: use `ringfence " + cmd.name + "`"
		if name == "inspect" {
			cmd.instead += " --json"
		}
		cmd.long = cmd.instead + ".\n\n" + cmd.long
		cmd.name = name
	}
	return []*command{logs, inspect}
}
