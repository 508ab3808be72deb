package agents

var gemini = agent{
	name: "gemini", npm: "@google/gemini-cli",
	screen: []string{"Tips for getting started", "Do you trust the files in this folder?"},
	env:    map[string]string{"GOOGLE_GEMINI_BASE_URL": "{URL}", "GEMINI_API_KEY": "phantom"},
	args:   []string{"--yolo", "--skip-trust", "-m", "gemini-2.5-flash"},
	begin:  []string{"-p"},
	resume: []string{"--resume", "latest", "-p"},
	shell: func(command string) turn {
		return turn{Tool: "run_shell_command", Input: map[string]string{"command": command}}
	},
	hidden: map[string]string{
		".gemini/oauth_creds.json":             `{"refresh_token": "{CANARY}"}`,
		".gemini/google_accounts.json":         `{"active": "{CANARY}"}`,
		".gemini/.env":                         "GEMINI_API_KEY={CANARY}\n",
		".gemini/tmp/other/chats/session.json": `{"messages": [{"content": "{CANARY}"}]}`,
	},
	shown: map[string]string{
		".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}},
			"mcpServers": {"{MARK}": {"httpUrl": "http://127.0.0.1:9/", "headers": {"Authorization": "{CANARY}"}}}}`,
		".gemini/commands/deploy.toml":   "prompt = \"{MARK}\"\n",
		".gemini/skills/review/SKILL.md": "---\nname: review\ndescription: {MARK}\n---\n",
	},
	masked: map[string]string{".gemini/skills/review/.env": "TOKEN={CANARY}\n"},
	told:   ".gemini/GEMINI.md",
	state:  ".gemini/tmp",
}
