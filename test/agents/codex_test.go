package agents

import "ringfence.dev/ringfence/test/agents/model"

var codex = agent{
	name: "codex", npm: "@openai/codex",
	api: "openai", vendor: "api.openai.com", base: "OPENAI_BASE_URL", tail: "/v1", key: "OPENAI_API_KEY",
	args:   []string{"exec", "--skip-git-repo-check", "-m", "scripted"},
	resume: []string{"resume", "--last"},
	plain:  []string{"--dangerously-bypass-hook-trust"},
	bare: []string{"--dangerously-bypass-approvals-and-sandbox", "-c", "model_provider=scripted",
		"-c", `model_providers.scripted={name="scripted",base_url="{URL}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`},
	presents: "${OPENAI_API_KEY:-$RINGFENCE_OPENAI}",
	tools: map[string]func(string, string) model.Call{
		toolShell: func(command, _ string) model.Call {
			// It waits no longer than it is told, and never longer than this.
			return model.Call{Tool: "exec_command", Input: map[string]any{"cmd": command, "yield_time_ms": 30000}}
		},
	},
	hidden: map[string]string{
		".codex/auth.json":                   `{"OPENAI_API_KEY": "{CANARY}"}`,
		".codex/history.jsonl":               `{"text": "{CANARY}"}` + "\n",
		".codex/sessions/2026/01/02/a.jsonl": `{"type": "message", "text": "{CANARY}"}` + "\n",
	},
	shown: map[string]string{
		".codex/config.toml": "model_reasoning_summary = \"none\" # {CANARY}\n[model_providers.own]\nname = \"{MARK}\"\n" +
			"base_url = \"http://127.0.0.1:9/v1\"\nexperimental_bearer_token = \"{CANARY}\"\n" +
			"[projects.\"/srv/{CANARY}\"]\ntrust_level = \"trusted\"\n",
		".codex/prompts/deploy.md":      "{MARK}\n",
		".codex/skills/review/SKILL.md": "---\nname: review\ndescription: {MARK}\n---\n",
	},
	masked: map[string]string{".codex/skills/review/.env": "TOKEN={CANARY}\n"},
	told:   ".codex/AGENTS.md",
	state:  ".codex/sessions",
	login:  map[string]string{".codex/auth.json": `{"auth_mode": "apikey", "OPENAI_API_KEY": "{KEY}"}`},
	start: start{
		ready:    []string{"OpenAI Codex"},
		never:    []string{"Welcome to Codex", "Sign in with ChatGPT", "Trust this folder?", "Update available"},
		stranger: "Sign in with ChatGPT",
	},
}
