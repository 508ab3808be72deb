package scan

import (
	"slices"
	"strings"
	"testing"
)

// unasked are settings that run, lead or allow something, and that no rule names as
// dangerous, or only in another place. Each is EVIL.
var unasked = map[string][]string{
	"opencode.json": {
		`{"provider": {"a": {"models": {"m": {"provider": {"npm": "EVIL"}}}}}}`, `{"provider": {"a": {"models": {"m": {"provider": {"api": "EVIL"}}}}}}`,
		`{"provider": {"a": {"options": {"apiKey": "EVIL", "headers": {"x": "EVIL"}, "fetch": "EVIL"}}}}`, `{"provider": {"a": {"env": ["EVIL"]}}}`,
		`{"provider": {"a": {"models": {"m": {"headers": {"x": "EVIL"}, "options": {"baseURL": "EVIL"}}}}}}`, `{"shell": "EVIL"}`,
		`{"agent": {"build": {"permission": {"bash": {"EVIL": "allow"}}}}}`, `{"agent": {"build": {"permission": "allow"}, "EVIL": "x"}}`,
		`{"agent": {"build": {"tools": {"EVIL": true}}}}`, `{"agent": {"build": {"options": {"baseURL": "EVIL"}, "EVIL": 1}}}`, `{"mode": {"a": {"permission": {"EVIL": "allow"}}}}`,
		`{"permission": {"EVIL": "allow"}}`, `{"tools": {"EVIL": true}}`, `{"skills": {"paths": ["EVIL"], "urls": ["EVIL"]}}`, `{"references": {"x": "EVIL"}}`,
		`{"server": {"hostname": "EVIL"}}`, `{"enterprise": {"url": "EVIL"}}`, `{"experimental": {"policies": ["EVIL"], "hook": {"EVIL": 1}}}`, `{"share": "auto", "x": "EVIL"}`,
		`{"autoupdate": true, "x": "EVIL"}`, `{"lsp": {"x": {"command": ["EVIL"], "extensions": [".x"]}}}`, `{"lsp": {"x": {"initialization": {"a": "EVIL"}}}}`,
		`{"formatter": {"x": {"command": ["EVIL"]}}}`, `{"formatter": {"x": {"environment": {"a": "EVIL"}}}}`, `{"instructions": ["https://EVIL"]}`, `{"instructions": ["~/EVIL", "a.md"]}`,
		`{"instructions": ["../EVIL"]}`, `{"command": {"x": {"template": "!` + "`EVIL`" + `"}}}`, `{"new": {"EVIL": 1}}`, `{"theme": {"EVIL": 1}}`, `{"mcp": {"EVIL": {"enabled": true}}}`,
		`{"agent.build.prompt": "EVIL"}`, `{"THEME": "EVIL"}`, `{"theme ": "EVIL"}`, `["EVIL"]`, `{"EVIL": {"x": 1}}`, `{"EVIL": {}}`,
	},
	".gemini/settings.json": {
		`{"policyPaths": ["EVIL"]}`, `{"adminPolicyPaths": ["EVIL"]}`, `{"tools": {"shell": {"pager": "EVIL"}}}`, `{"modelConfigs": {"customAliases": {"a": {"modelConfig": {"httpOptions": {"baseUrl": "EVIL"}}}}}}`,
		`{"agents": {"overrides": {"a": {"EVIL": 1}}, "browser": {"profilePath": "EVIL"}}}`, `{"tools": {"sandboxAllowedPaths": ["EVIL"]}}`, `{"general": {"plan": {"directory": "EVIL"}}}`,
		`{"experimental": {"extensionRegistryURI": "EVIL"}}`, `{"experimental": {"gemmaModelRouter": {"binaryPath": "EVIL", "classifier": {"host": "EVIL"}}}}`, `{"admin": {"mcp": {"config": {"a": "EVIL"}}}}`,
		`{"advanced": {"bugCommand": {"urlTemplate": "EVIL"}}}`, `{"advanced": {"excludedEnvVars": ["EVIL"]}}`, `{"security": {"auth": {"selectedType": "EVIL"}}}`,
		`{"security": {"allowedExtensions": ["EVIL"]}}`, `{"security": {"enablePermanentToolApproval": true, "x": "EVIL"}}`, `{"security": {"environmentVariableRedaction": {"allowed": ["EVIL"]}}}`,
		`{"hooksConfig": {"EVIL": true}}`, `{"telemetry": {"EVIL": 1}}`, `{"theme": "${EVIL}"}`, `{"ui": {"theme": "$EVIL"}}`, `{"tools": {"allowed": ["$EVIL", "read_file"]}}`,
		`{"context": {"fileName": ["/EVIL"]}}`, `{"context": {"fileFiltering": {"customIgnoreFilePaths": ["../EVIL"]}}}`, `{"ui": {"EVIL": 1}}`, `{"mcpservers": {"EVIL": {"command": "x"}}}`,
		`{"general": {"defaultApprovalMode": "EVIL"}}`, `{"skills": {"EVIL": true}}`, `{"new": "EVIL"}`, `{"mcp": {"serverCommand": "EVIL"}}`, `{"tools.core": ["EVIL"]}`,
	},
	".codex/config.toml": {
		"[profiles.a]\nnotify = [\"EVIL\"]\n", "[profiles.a]\nmodel_instructions_file = \"EVIL\"\n", "[profiles.a.features]\nEVIL = true\n", "model_instructions_file = \"EVIL\"\n", "profile = \"EVIL\"\n",
		"js_repl_node_path = \"EVIL\"\n", "js_repl_node_module_dirs = [\"EVIL\"]\n", "model_catalog_json = \"EVIL\"\n", "log_dir = \"EVIL\"\n", "sqlite_home = \"EVIL\"\n", "oss_provider = \"EVIL\"\n",
		"experimental_realtime_ws_base_url = \"EVIL\"\n", "experimental_thread_store_endpoint = \"EVIL\"\n", "mcp_oauth_callback_url = \"EVIL\"\n", "cli_auth_credentials_store = \"EVIL\"\n",
		"project_root_markers = [\"EVIL\"]\n", "project_doc_fallback_filenames = [\"../EVIL\"]\n", "allow_login_shell = true # EVIL\n", "[features]\nEVIL = true\n", "[apps.EVIL]\nenabled = true\n",
		"[notice]\nEVIL = true\n", "[orchestrator]\nEVIL = 1\n", "[cloud]\nEVIL = 1\n", "[tool_suggest]\nEVIL = 1\n", "[tui]\nEVIL = 1\n", "[model]\nEVIL = 1\n", "[agents.x]\nconfig_file = \"EVIL\"\n",
		"approval_policy = { EVIL = true }\n", "\"profiles.a.notify\" = \"EVIL\"\n", "profiles.a.notify = [\"EVIL\"]\n", "approvals_reviewer = \"EVIL\"\n", "new = \"EVIL\"\n", "web_search = { x = \"EVIL\" }\n",
		"[[model]]\nEVIL = 1\n", "[browser_use]\nEVIL = 1\n", "[windows]\nsandbox = \"EVIL\"\n",
	},
}

// TestHeadPermissions: what opencode is allowed at the head of an agent goes.
func TestHeadPermissions(t *testing.T) {
	for head, want := range map[string]bool{
		"permission:\n  bash: allow\n": true, "permission: allow\n": true, "permission: {bash: {\"*\": \"allow\"}}\n": true, "permission:\n  bash: \"\\x61llow\"\n": true,
		"\"permission\":\n  bash: allow\n": true, "permission:\n  edit: deny\n  bash: ask\n": false, "tools:\n  write: false\n": false,
	} {
		r := look(t, plant(t, map[string]string{".opencode/agent/a.md": "---\ndescription: x\n" + head + "---\nBe kind.\n"}))
		if dangerous(r) != want {
			t.Errorf("%q: %q", head, said(r))
		}
	}
}

// TestUnknownGoes: what is not known to be harmless where it stands is not passed on.
func TestUnknownGoes(t *testing.T) {
	for file, texts := range unasked {
		for _, text := range texts {
			root := plant(t, map[string]string{file: text})
			r := look(t, root)
			if got := shows(t, root, r); len(got) > 0 || !dangerous(r) {
				t.Errorf("%s is passed on: %s", file, text)
			}
			for _, f := range r.Files {
				if again := look(t, plant(t, map[string]string{file: string(f.Neutral)})); dangerous(again) {
					t.Errorf("%s: what stands for %s is still dangerous: %s %q", file, text, f.Neutral, said(again))
				}
			}
		}
	}
}

// honest are settings as people write them.
var honest = map[string]string{
	"opencode.json": `{
  // What we agreed on.
  "$schema": "https://opencode.ai/config.json", "model": "anthropic/claude-sonnet-4-5", "share": "disabled", "autoupdate": false,
  "instructions": ["CONTRIBUTING.md", "docs/*.md", ".cursor/rules/*.md"],
  "permission": {"edit": "allow", "bash": {"git push": "ask", "rm *": "deny", "*": "ask"}, "webfetch": "deny"},
  "agent": {"review": {"description": "Reviews code", "mode": "subagent", "model": "anthropic/x", "temperature": 0.1, "prompt": "You review\ncode.", "tools": {"write": false}, "permission": {"edit": "deny"}}},
  "command": {"test": {"template": "Run the tests of $ARGUMENTS", "description": "Tests", "agent": "build"}},
  "provider": {"anthropic": {"models": {"x": {"name": "X", "limit": {"context": 200000, "output": 65536}}}, "options": {"timeout": 600000}}},
  "watcher": {"ignore": ["dist/**"]}, "disabled_providers": ["openai"], "keybinds": {"leader": "ctrl+x"}, "formatter": false, "lsp": {"typescript": {"disabled": true}},
}`,
	".gemini/settings.json": `{"general": {"vimMode": true, "checkpointing": {"enabled": true}}, "ui": {"theme": "GitHub", "hideTips": true, "footer": {"hideCWD": true}}, "model": {"name": "gemini-pro"},
  "context": {"fileName": ["AGENTS.md", "GEMINI.md"], "includeDirectories": ["lib"], "fileFiltering": {"respectGitIgnore": true}}, "tools": {"exclude": ["run_shell_command"], "allowed": ["run_shell_command(git status)"]}}`,
	".codex/config.toml": "model = \"gpt-5\" # ours\nmodel_reasoning_effort = \"high\"\napproval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\nproject_doc_fallback_filenames = [\"CLAUDE.md\"]\n" +
		"[profiles.fast]\nmodel = \"gpt-5-mini\"\nmodel_reasoning_effort = \"low\"\n[tui]\ntheme = \"x\"\nnotifications = true\n[history]\npersistence = \"none\"\n",
	".codex/agents/reviewer.toml": "name = \"reviewer\"\ndescription = \"Reviews\"\nmodel = \"x\"\nsandbox_mode = \"read-only\"\ndeveloper_instructions = \"\"\"\nLook at it.\n\"\"\"\n",
}

// TestHonestSettings: what most people set is nothing to tell of, with Windows' ends of
// lines too.
func TestHonestSettings(t *testing.T) {
	for file, text := range honest {
		for _, as := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
			if r := look(t, plant(t, map[string]string{file: as})); len(r.Findings) > 0 {
				t.Errorf("%s: %s %s", file, said(r), r.Findings[0].What)
			}
		}
	}
}

// TestKnownPlaces: a harmless setting is harmless at its place only.
func TestKnownPlaces(t *testing.T) {
	for i := range rules() {
		r := &rules()[i]
		for _, a := range r.allowed {
			if slices.Contains(a.path, "*") {
				continue
			}
			for _, at := range [][]string{append([]string{"strange"}, a.path...), append(slices.Clone(a.path), "strange")} {
				if got := r.stands(at, &node{Text: "true"}); got == harmless {
					t.Errorf("%s: %q is harmless", r.Files[0], at)
				}
			}
		}
	}
}
