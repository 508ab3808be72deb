package agents

import "ringfence.dev/ringfence/test/agents/model"

// conversation names one: by the same name another project must not know it.
const conversation = "5f0c2f8e-6d1f-4c39-9a51-3f8f2f6f2b11"

var claude = agent{
	name: "claude", npm: "@anthropic-ai/claude-code",
	api: "anthropic", vendor: "api.anthropic.com", base: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY",
	args:     []string{"--dangerously-skip-permissions"},
	begin:    []string{"--session-id", conversation, "-p"},
	resume:   []string{"--resume", conversation, "-p"},
	plain:    []string{"-p"},
	bareEnv:  []string{"IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"},
	presents: "${ANTHROPIC_API_KEY:-$ANTHROPIC_AUTH_TOKEN}",
	tools: map[string]func(string, string) model.Call{
		toolShell: func(command, _ string) model.Call {
			return model.Call{Tool: "Bash", Input: map[string]any{"command": command, "description": "look around"}}
		},
		toolRead: func(path, _ string) model.Call {
			return model.Call{Tool: "Read", Input: map[string]any{"file_path": path}}
		},
		toolWrite: func(path, text string) model.Call {
			return model.Call{Tool: "Write", Input: map[string]any{"file_path": path, "content": text}}
		},
		toolFetch: func(url, _ string) model.Call {
			return model.Call{Tool: "WebFetch", Input: map[string]any{"url": url, "prompt": "say what it says"}}
		},
	},
	hidden: map[string]string{
		".claude/.credentials.json":           `{"claudeAiOauth": {"accessToken": "{CANARY}", "refreshToken": "{CANARY}", "expiresAt": 4102444800000, "scopes": ["user:inference"]}}`,
		".claude/history.jsonl":               `{"display": "{CANARY}"}` + "\n",
		".claude/projects/-srv-other/a.jsonl": `{"type": "user", "message": {"role": "user", "content": "{CANARY}"}}` + "\n",
	},
	shown: map[string]string{
		".claude/settings.json":          `{"spinnerTipsEnabled": false, "skipWebFetchPreflight": true, "env": {"MARK": "{MARK}", "FORGE_TOKEN": "{CANARY}"}, "apiKeyHelper": "echo {CANARY}"}`,
		".claude/skills/review/SKILL.md": "---\nname: review\ndescription: {MARK}\n---\n",
		".claude/commands/deploy.md":     "{MARK}\n",
		".claude/agents/tester.md":       "---\nname: tester\ndescription: {MARK}\n---\n",
	},
	carried: map[string]string{
		".claude.json": `{"numStartups": 7, "theme": "dark", "preferredNotifChannel": "{MARK}", "oauthAccount": {"accountUuid": "{CANARY}"}, "primaryApiKey": "{CANARY}",
			"mcpServers": {"forge": {"command": "true", "env": {"FORGE_TOKEN": "{CANARY}"}}},
			"projects": {"/srv/other": {"history": [{"display": "{CANARY}"}]}}}`,
	},
	masked: map[string]string{".claude/skills/review/.env": "TOKEN={CANARY}\n"},
	told:   ".claude/CLAUDE.md",
	state:  ".claude/projects",
	login: map[string]string{".claude/.credentials.json": `{"claudeAiOauth": {"accessToken": "{KEY}", "refreshToken": "{KEY}-again",
		"expiresAt": 4102444800000, "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}}`},
	start: start{
		args:  []string{"--dangerously-skip-permissions"},
		ready: []string{"bypass permissions on"},
		never: []string{"Welcome to Claude Code", "Select login method", "Choose the text style", "Quick safety check", "Bypass Permissions mode",
			"Detected a custom API key", "Not logged in", "Please run /login"},
		stranger: "Welcome to Claude Code",
	},
}
