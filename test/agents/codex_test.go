package agents

var codex = agent{
	name: "codex", npm: "@openai/codex",
	screen: []string{"Welcome to Codex", "Sign in with ChatGPT"},
	args: []string{"exec", "--skip-git-repo-check", "-m", "scripted", "-c", "model_provider=scripted",
		"-c", `model_providers.scripted={name="scripted",base_url="{URL}/v1",wire_api="responses"}`},
	resume: []string{"resume", "--last"},
	shell:  func(command string) turn { return turn{Tool: "exec_command", Input: map[string]string{"cmd": command}} },
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
}
