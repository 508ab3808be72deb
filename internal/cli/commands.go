package cli

import "slices"

// command is one row of the table below: what help, the manual and the shells'
// completion tell of it. Its flags are where it reads them.
type command struct {
	name, args, short string
	examples          []string // each begins with "ringfence"
	run               func(c *context, name string, args []string) (int, error)
}

// group is what a person looks for commands by.
type group struct {
	title    string
	commands []command
}

// groups is the whole table.
func groups() []group {
	return []group{
		{"Run something fenced", launches()},
		{"Sessions", sessionsOf()},
		{"What a session changed", reviews()},
		{"What is allowed, and why", rulings()},
		{"How exposed you are", looks()},
		{"Make it the default", settings()},
	}
}

// commands are all of them, in that order.
func commands() (all []command) {
	for _, g := range groups() {
		all = slices.Concat(all, g.commands)
	}
	return all
}

func launches() []command {
	return []command{
		{name: "run", args: "[flags] -- CMD [ARGS]", short: "run a command in a sandbox", run: launch,
			examples: []string{"ringfence run -- make test", "ringfence run --net none --ro ~/datasets -- ls ~/datasets", "ringfence run --dry-run -- true"}},
		{name: "shell", args: "[flags]", short: "open a shell in a sandbox", run: launch,
			examples: []string{"ringfence shell", "ringfence shell --review"}},
		{name: "claude", args: "[flags] [-- ARGS]", short: "run Claude Code in a sandbox", run: launch,
			examples: []string{"ringfence claude", "ringfence claude -- -p 'fix the failing test'", "ringfence claude --review --net locked -- -p 'tidy up'"}},
		{name: "codex", args: "[flags] [-- ARGS]", short: "run Codex in a sandbox", run: launch,
			examples: []string{"ringfence codex -- exec 'fix the failing test'"}},
		{name: "gemini", args: "[flags] [-- ARGS]", short: "run Gemini CLI in a sandbox", run: launch,
			examples: []string{"ringfence gemini -- -m gemini-2.5-flash -p 'fix the failing test'"}},
		{name: "opencode", args: "[flags] [-- ARGS]", short: "run opencode in a sandbox", run: launch,
			examples: []string{"ringfence opencode -- run 'fix the failing test'"}},
		{name: "learn", args: "[flags] -- CMD [ARGS]", short: "run a command, and propose the smallest policy for it", run: runLearn, examples: []string{
			"ringfence learn -- make test", "ringfence learn claude -- -p 'run the tests'", "ringfence learn --show"}},
	}
}

func sessionsOf() []command {
	return []command{
		{name: "ps", args: "[-a] [--json]", short: "list sessions", examples: []string{"ringfence ps", "ringfence ps -a --json"}, run: ps},
		{name: "status", args: "[SESSION] [--json | --line]", short: "show how strongly a session is fenced", examples: []string{"ringfence status demo", "ringfence status demo --line"}, run: status},
		{name: "inspect", args: "SESSION", short: "show everything about a session", examples: []string{"ringfence inspect demo"}, run: inspect},
		{name: "exec", args: "SESSION -- CMD [ARGS]", short: "run a command in a running session", examples: []string{"ringfence exec demo -- ls -la"}, run: execCommand},
		{name: "attach", args: "[SESSION]", short: "take over the terminal of a kept session", run: attach,
			examples: []string{"ringfence attach demo"}},
		{name: "detach", args: "[SESSION]", short: "let go of the terminal of a kept session", run: detach,
			examples: []string{"ringfence detach demo"}},
		{name: "logs", args: "SESSION [-f]", short: "show what a kept session printed", examples: []string{"ringfence logs demo"}, run: logs},
		{name: "stop", args: "SESSION... | --all", short: "end running sessions", run: stop,
			examples: []string{"ringfence stop demo"}},
		{name: "thaw", args: "[SESSION]", short: "let a frozen session go on", run: thaw,
			examples: []string{"ringfence thaw demo"}},
		{name: "rm", args: "SESSION [--discard]", short: "forget a session and what could be undone of it", run: remove,
			examples: []string{"ringfence rm old --discard"}},
	}
}

func reviews() []command {
	return []command{
		{name: "diff", args: "[SESSION] [PATH...] [flags]", short: "show what a session changed, and what the host would run of it", run: diff,
			examples: []string{"ringfence diff", "ringfence diff --patch"}},
		{name: "apply", args: "[SESSION] [PATH...] [flags]", short: "bring to the host what waits in a session", run: apply,
			examples: []string{"ringfence apply --yes"}},
		{name: "discard", args: "[SESSION] [PATH...] [flags]", short: "forget what waits in a session", run: discard,
			examples: []string{"ringfence discard --yes"}},
		{name: "undo", args: "[SESSION] [PATH...] [flags]", short: "bring back what a session changed or deleted on the host", run: undo,
			examples: []string{"ringfence undo readme --yes"}},
	}
}

func rulings() []command {
	return []command{
		{name: "why", args: "--last | PATH | HOST[:PORT] | ENV", short: "say which rule decides, and what the smallest grant would allow", run: whyCommand,
			examples: []string{"ringfence why ~/.ssh/id_ed25519", "ringfence why api.example.org:443", "ringfence why --last"}},
		{name: "requests", args: "[SESSION] [--json]", short: "show which hosts running sessions want and may not reach", run: requests,
			examples: []string{"ringfence requests", "ringfence requests demo --json"}},
		{name: "grant", args: "SESSION --host HOST[:PORT] [flags]", short: "allow a host in a running session", run: grant,
			examples: []string{"ringfence grant demo --host api.example.org --for 30m"}},
		{name: "log", args: "[list|verify|export] [SESSION] [flags]", short: "show, verify or export what a session did and what was decided", run: log,
			examples: []string{"ringfence log", "ringfence log demo --denied", "ringfence log verify"}},
		{name: "env", args: "[flags]", short: "show what of the environment comes inside, by name", run: showEnv,
			examples: []string{"ringfence env", "ringfence env --agent claude --json"}},
		{name: "policy", args: "show|check|test|groups|schema [flags]", short: "show or check the effective policy", run: policyCommand},
		{name: "secret", args: "set|ls|rm|test [NAME] [flags]", short: "keep, list, remove or try the secrets of the host", run: secretCommand},
		{name: "trust", args: "[flags]", short: "accept the project's own policy and settings as they are now", run: trust,
			examples: []string{"ringfence trust --yes", "ringfence trust --remotes"}},
	}
}

func looks() []command {
	return []command{
		{name: "audit", args: "[PATH] [--json | --sarif] [--all]", short: "show how exposed this machine and project are", examples: []string{"ringfence audit", "ringfence audit --all --json"}, run: runAudit},
		{name: "scan", args: "[PATH] [--json]", short: "show what of a repository would run when an agent opens it", examples: []string{"ringfence scan", "ringfence scan --json"}, run: runScan},
		{name: "doctor", args: "[--json]", short: "show what this host can enforce", run: doctor,
			examples: []string{"ringfence doctor", "ringfence doctor --json"}},
		{name: "verify", args: "[--json]", short: "prove every defence in a throw-away sandbox", run: verifyCommand,
			examples: []string{"ringfence verify"}},
		{name: "drill", args: "[DRILL... | all] [--json]", short: "play known incidents under your policy, in a throw-away workspace", run: drillCommand,
			examples: []string{"ringfence drill", "ringfence drill all"}},
	}
}

func settings() []command {
	return []command{
		{name: "init", args: "[flags]", short: "write a first policy for this project", run: initCommand, examples: []string{
			"ringfence init", "ringfence init --global"}},
		{name: "install", args: "[AGENT... | all] [flags]", short: "make the fenced agent the one on PATH", run: runInstall,
			examples: []string{"ringfence install claude --dry-run", "ringfence install claude --dir ~/.local/bin", "ringfence install --print-prompt"}},
		{name: "uninstall", args: "AGENT | all [flags]", short: "take back what install made", run: uninstall,
			examples: []string{"ringfence uninstall claude"}},
		{name: "hook", args: "[AGENT] [flags]", short: "judge a tool call of an agent, for its hooks", run: hookCommand,
			examples: []string{"ringfence hook --check 'rm -rf build'"}},
		{name: "mcp", args: "run|ls|trust", short: "run MCP servers of the host, each in its own sandbox", run: mcpCommand,
			examples: []string{"ringfence mcp ls", "ringfence mcp run files --ro ~/notes -- mcp-server-files ~/notes"}},
		{name: "gc", args: "[flags]", short: "remove stale state of projects and sessions", run: gc,
			examples: []string{"ringfence gc", "ringfence gc --days 30 --yes"}},
		{name: "completion", args: "bash|zsh|fish", short: "print the completion of a shell", run: completion,
			examples: []string{"ringfence completion bash", "source <(ringfence completion bash)"}},
		{name: "man", args: "[COMMAND] [--dir DIR]", short: "print the manual, or write its pages", run: manual,
			examples: []string{"ringfence man run", "ringfence man --dir ~/.local/share/man/man1"}},
		{name: "version", short: "print the version", run: version,
			examples: []string{"ringfence version"}},
		{name: "help", args: "[COMMAND]", short: "explain a command", run: help,
			examples: []string{"ringfence help run", "ringfence help policy show"}},
	}
}
