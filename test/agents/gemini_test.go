package agents

import "ringfence.dev/ringfence/test/agents/model"

var gemini = agent{
	name: "gemini", npm: "@google/gemini-cli",
	api: "gemini", vendor: "generativelanguage.googleapis.com", base: "GOOGLE_GEMINI_BASE_URL", key: "GEMINI_API_KEY",
	args:     []string{"--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "--include-directories", "{HOME}"},
	begin:    []string{"-p"},
	resume:   []string{"--resume", "latest", "-p"},
	plain:    []string{"-p"},
	presents: "$GEMINI_API_KEY",
	tools: map[string]func(string, string) model.Call{
		toolShell: func(command, _ string) model.Call {
			return model.Call{Tool: "run_shell_command", Input: map[string]any{"command": command}}
		},
		toolRead: func(path, _ string) model.Call {
			return model.Call{Tool: "read_file", Input: map[string]any{"file_path": path}}
		},
		toolWrite: func(path, text string) model.Call {
			return model.Call{Tool: "write_file", Input: map[string]any{"file_path": path, "content": text}}
		},
		toolFetch: func(url, _ string) model.Call {
			return model.Call{Tool: "web_fetch", Input: map[string]any{"prompt": "say what " + url + " says"}}
		},
	},
	hidden: map[string]string{
		".gemini/oauth_creds.json":             `{"refresh_token": "{CANARY}"}`,
		".gemini/google_accounts.json":         `{"active": "{CANARY}"}`,
		".gemini/.env":                         "GEMINI_API_KEY={CANARY}\n",
		".gemini/tmp/other/chats/session.json": `{"messages": [{"content": "{CANARY}"}]}`,
	},
	shown: map[string]string{
		".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}},
			"mcp": {"excluded": ["{MARK}"]}, "mcpServers": {"far": {"httpUrl": "http://127.0.0.1:9/", "headers": {"Authorization": "{CANARY}"}}}}`,
		".gemini/commands/deploy.toml":   "prompt = \"{MARK}\"\n",
		".gemini/skills/review/SKILL.md": "---\nname: review\ndescription: {MARK}\n---\n",
	},
	masked: map[string]string{".gemini/skills/review/.env": "TOKEN={CANARY}\n"},
	told:   ".gemini/GEMINI.md",
	state:  ".gemini/tmp",
	login:  map[string]string{".gemini/oauth_creds.json": `{"access_token": "{KEY}", "refresh_token": "{KEY}-again", "token_type": "Bearer", "expiry_date": 4102444800000}`},
	start: start{
		args:     []string{"-m", "gemini-2.5-flash"}, // else it asks the model which one to ask
		ready:    []string{"Type your message"},
		never:    []string{"Do you trust", "How would you like to authenticate", "Enter Gemini API Key", "Failed to sign in"},
		stranger: "Do you trust",
	},
}
