package agents

var opencode = agent{
	name: "opencode", npm: "opencode-ai",
	screen: []string{"Ask anything"},
	env:    map[string]string{"MODEL_URL": "{URL}/v1"},
	args:   []string{"run", "-m", "scripted/one"},
	resume: []string{"--continue"},
	shell: func(command string) turn {
		return turn{Tool: "bash", Input: map[string]string{"command": command, "description": "look around"}}
	},
	hidden: map[string]string{
		".local/share/opencode/auth.json":                  `{"anthropic": {"type": "api", "key": "{CANARY}"}}`,
		".local/share/opencode/storage/message/other.json": `{"text": "{CANARY}"}`,
	},
	shown: map[string]string{
		".config/opencode/opencode.json": `{"username": "{MARK}", "provider": {
			"scripted": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "{env:MODEL_URL}"}, "models": {"one": {}}},
			"forge": {"npm": "@ai-sdk/openai-compatible", "options": {"apiKey": "{CANARY}"}, "models": {"one": {}}}}}`,
		".config/opencode/command/deploy.md":      "{MARK}\n",
		".config/opencode/skills/review/SKILL.md": "---\nname: review\ndescription: {MARK}\n---\n",
	},
	masked: map[string]string{".config/opencode/skills/review/.env": "TOKEN={CANARY}\n"},
	told:   ".config/opencode/AGENTS.md",
	state:  ".local/share/opencode",
}
