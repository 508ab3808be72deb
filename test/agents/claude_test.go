package agents

// conversation names one: by the same name another project must not know it.
const conversation = "5f0c2f8e-6d1f-4c39-9a51-3f8f2f6f2b11"

var claude = agent{
	name: "claude", npm: "@anthropic-ai/claude-code",
	screen: []string{"Welcome to Claude Code"},
	env:    map[string]string{"ANTHROPIC_BASE_URL": "{URL}", "ANTHROPIC_API_KEY": "phantom"},
	args:   []string{"--dangerously-skip-permissions"},
	begin:  []string{"--session-id", conversation, "-p"},
	resume: []string{"--resume", conversation, "-p"},
	shell: func(command string) turn {
		return turn{Tool: "Bash", Input: map[string]string{"command": command, "description": "look around"}}
	},
	read: func(path string) turn {
		return turn{Tool: "Read", Input: map[string]string{"file_path": path}}
	},
	hidden: map[string]string{
		".claude/.credentials.json":           `{"claudeAiOauth": {"accessToken": "{CANARY}", "refreshToken": "{CANARY}", "expiresAt": 4102444800000, "scopes": ["user:inference"]}}`,
		".claude/history.jsonl":               `{"display": "{CANARY}"}` + "\n",
		".claude/projects/-srv-other/a.jsonl": `{"type": "user", "message": {"role": "user", "content": "{CANARY}"}}` + "\n",
	},
	shown: map[string]string{
		".claude/settings.json":          `{"spinnerTipsEnabled": false, "env": {"MARK": "{MARK}", "FORGE_TOKEN": "{CANARY}"}, "apiKeyHelper": "echo {CANARY}"}`,
		".claude/skills/review/SKILL.md": "---\nname: review\ndescription: {MARK}\n---\n",
		".claude/commands/deploy.md":     "{MARK}\n",
		".claude/agents/tester.md":       "---\nname: tester\ndescription: {MARK}\n---\n",
	},
	carried: map[string]string{
		".claude.json": `{"numStartups": 7, "theme": "dark", "oauthAccount": {"accountUuid": "{CANARY}"}, "primaryApiKey": "{CANARY}",
			"mcpServers": {"own": {"command": "true", "args": ["{MARK}"]}, "forge": {"command": "true", "env": {"FORGE_TOKEN": "{CANARY}"}}},
			"projects": {"/srv/other": {"history": [{"display": "{CANARY}"}]}}}`,
	},
	masked: map[string]string{".claude/skills/review/.env": "TOKEN={CANARY}\n"},
	told:   ".claude/CLAUDE.md",
	state:  ".claude/projects",
}
