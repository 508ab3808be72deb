package agents

import "ringfence.dev/ringfence/test/agents/model"

var opencode = agent{
	name: "opencode", npm: "opencode-ai",
	api: "anthropic", vendor: "api.anthropic.com", base: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY",
	args:     []string{"run", "-m", "anthropic/claude-sonnet-4-5"},
	resume:   []string{"--continue"},
	bareEnv:  []string{`OPENCODE_CONFIG_CONTENT={"provider": {"anthropic": {"options": {"baseURL": "{URL}/v1"}}}}`},
	presents: `${ANTHROPIC_API_KEY:-$(sed -n 's/.*"apiKey": *"\([^"]*\)".*/\1/p' ~/.config/opencode/opencode.json)}`,
	tools: map[string]func(string, string) model.Call{
		toolShell: func(command, _ string) model.Call {
			return model.Call{Tool: "bash", Input: map[string]any{"command": command, "description": "look around"}}
		},
		toolRead: func(path, _ string) model.Call {
			return model.Call{Tool: "read", Input: map[string]any{"filePath": path}}
		},
		toolWrite: func(path, text string) model.Call {
			return model.Call{Tool: "write", Input: map[string]any{"filePath": path, "content": text}}
		},
		toolFetch: func(url, _ string) model.Call {
			return model.Call{Tool: "webfetch", Input: map[string]any{"url": url, "format": "text"}}
		},
	},
	hidden: map[string]string{
		".local/share/opencode/auth.json":                  `{"anthropic": {"type": "api", "key": "{CANARY}"}}`,
		".local/share/opencode/storage/message/other.json": `{"text": "{CANARY}"}`,
	},
	shown: map[string]string{
		".config/opencode/opencode.json": `{"username": "{MARK}", "permission": {"external_directory": "allow"}, "provider": {
			"forge": {"npm": "@ai-sdk/openai-compatible", "options": {"apiKey": "{CANARY}"}, "models": {"one": {}}}}}`,
		".config/opencode/command/deploy.md":      "{MARK}\n",
		".config/opencode/skills/review/SKILL.md": "---\nname: review\ndescription: {MARK}\n---\n",
	},
	masked: map[string]string{".config/opencode/skills/review/.env": "TOKEN={CANARY}\n"},
	told:   ".config/opencode/AGENTS.md",
	state:  ".local/share/opencode",
	login:  map[string]string{".local/share/opencode/auth.json": `{"anthropic": {"type": "api", "key": "{KEY}"}}`},
	start: start{
		args:  []string{"--model", "anthropic/claude-sonnet-4-5"},
		ready: []string{"Ask anything"},
		never: []string{"Connect a provider"},
	},
}
