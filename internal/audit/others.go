package audit

import (
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// codexChecks: Codex.
var codexChecks = []Check{
	{ID: "AU-050", Severity: Critical, Title: "Codex runs without its sandbox",
		Gets: "commands of a misled agent run with all of the user's rights",
		Fix:  `sandbox_mode = "workspace-write" in {}`, probe: either(codexSays(word("danger-full-access"), "sandbox_mode"), codexSays(word(":danger-full-access"), "default_permissions"))},
	{ID: "AU-051", Severity: Medium, Title: "Codex never asks",
		Gets: "whatever its sandbox lets through is done at once; without the sandbox, everything", Fix: `approval_policy = "on-request" in {}`, probe: codexSays(word("never"), "approval_policy")},
	{ID: "AU-052", Severity: Medium, Title: "Codex's sandbox has the network",
		Gets: "a way out for what the agent reads", Fix: "network_access = false in {}", probe: says(codex, on, "sandbox_workspace_write", "network_access")},
	{ID: "AU-053", Severity: High, Title: "Codex may write to the whole home directory",
		Gets: "start-up files, keys and settings of every other program",
		Fix:  "take it out of writable_roots in {}", probe: says(codex, wide, "sandbox_workspace_write", "writable_roots", "*")},
	{ID: "AU-054", Severity: Medium, Title: "Codex trusts the home directory or the root",
		Gets: "settings of whatever lies there count", Fix: `trust_level = "untrusted" for it in {}`, probe: codexTrust},
	{ID: "AU-055", Severity: Medium, Title: "Codex hands secrets of the environment to its commands",
		Gets: "keys and tokens by `env`", Fix: "ignore_default_excludes = false in {}", probe: says(codex, on, "shell_environment_policy", "ignore_default_excludes")},
}

func codex(l *look) []*document {
	dir := l.home(".codex")
	if v := l.getenv("CODEX_HOME"); filepath.IsAbs(v) {
		dir = v
	}
	return l.all(append(l.projectPaths(".codex/config.toml"), filepath.Join(dir, "config.toml"), l.at("/etc/codex/config.toml"))...)
}

// codexSays asks a key, and the same key of every profile.
func codexSays(test func(*look, *node) bool, key string) func(*look) []hit {
	return either(says(codex, test, key), says(codex, test, "profiles", "*", key))
}

func codexTrust(l *look) (hits []hit) {
	for _, d := range codex(l) {
		for _, p := range d.root.All("projects", "*") {
			if t := p.Get("trust_level"); t.Is("trusted") && filepath.IsAbs(p.Name) && file.Within(l.Home, p.Name) {
				hits = append(hits, hit{path: d.path, line: t.Line, detail: "for " + l.word(p.Name)})
			}
		}
	}
	return hits
}

// geminiChecks: Gemini CLI.
var geminiChecks = []Check{
	{ID: "AU-060", Severity: Medium, Title: "Gemini CLI's own sandbox is off",
		Gets: "commands of a misled agent run with all of the user's rights wherever ringfence is not used",
		Fix:  `{"tools": {"sandbox": true}} in {}`, probe: geminiSandbox},
	{ID: "AU-061", Severity: High, Title: "Gemini CLI does things without asking",
		Gets: "what a misled agent thinks of is done at once", Fix: "take the key out of {}", probe: either(
			says(gemini, on, "tools", "autoAccept"), says(gemini, on, "autoAccept"), says(gemini, on, "yolo"),
			says(gemini, word("yolo"), "general", "defaultApprovalMode"), says(gemini, word("yolo"), "tools", "approvalMode"))},
	{ID: "AU-062", Severity: Medium, Title: "Gemini CLI trusts every directory",
		Gets: "settings and servers of any repository count without a question",
		Fix:  `{"security": {"folderTrust": {"enabled": true}}} in {}`, probe: says(gemini, off, "security", "folderTrust", "enabled")},
	{ID: "AU-063", Severity: Medium, Title: "Gemini CLI trusts the home directory or the root",
		Gets: "settings and servers of whatever lies there count", Fix: "take it out of {}", probe: geminiTrust},
	{ID: "AU-064", Severity: High, Title: "Gemini CLI calls an MCP server without asking",
		Gets: "a server, or who misleads the agent, calls every tool of it", Fix: `"trust": false in {}`,
		probe: says(gemini, on, "mcpServers", "*", "trust")},
}

func gemini(l *look) []*document {
	paths := append([]string{l.at("/etc/gemini-cli/settings.json")}, l.projectPaths(".gemini/settings.json")...)
	return l.all(append(paths, l.home(".gemini/settings.json"))...)
}

// geminiSandbox: no sandbox is the default, so saying nothing counts where the agent
// is in use.
func geminiSandbox(l *look) []hit {
	if l.agent("gemini") == nil && len(gemini(l)) == 0 {
		return nil
	}
	if v := l.getenv("GEMINI_SANDBOX"); v != "" && v != "0" && v != "false" {
		return nil
	}
	h := hit{path: l.home(".gemini/settings.json"), detail: "tools.sandbox is not set"}
	for _, path := range [][]string{{"tools", "sandbox"}, {"sandbox"}} {
		if d, n := l.first(gemini, path...); n.IsTrue() || n.Str() != "" {
			return nil
		} else if n != nil {
			h = hit{path: d.path, line: n.Line, detail: strings.Join(path, ".") + " = " + n.Text}
		}
	}
	return []hit{l.behind("gemini", h, Info)}
}

func geminiTrust(l *look) (hits []hit) {
	for _, d := range l.all(l.home(".gemini/trustedFolders.json")) {
		for _, p := range d.root.All("*") {
			dir := p.Name
			if p.Is("TRUST_PARENT") {
				dir = filepath.Dir(dir)
			}
			if (p.Is("TRUST_FOLDER") || p.Is("TRUST_PARENT")) && filepath.IsAbs(dir) && file.Within(l.Home, dir) {
				hits = append(hits, hit{path: d.path, line: p.Line, detail: "for " + l.word(dir)})
			}
		}
	}
	return hits
}

// opencodeChecks: opencode.
var opencodeChecks = []Check{
	{ID: "AU-070", Severity: High, Title: "opencode does things without asking",
		Gets: "every command and every edit of a misled agent is done at once; that is its default",
		Fix:  `{"permission": {"*": "ask"}} in {}`, probe: opencodeAllow},
	{ID: "AU-071", Severity: Medium, Title: "opencode shares every conversation",
		Gets: "code, and whatever was read, at an address that anybody can open",
		Fix:  `"share": "manual" in {}`, probe: either(says(opencode, word("auto"), "share"), says(opencode, on, "autoshare"))},
}

func opencode(l *look) []*document {
	paths := l.projectPaths("opencode.json", "opencode.jsonc", ".opencode/opencode.json")
	for _, name := range []string{"opencode.json", "opencode.jsonc", "config.json"} {
		paths = append(paths, l.config("opencode/"+name))
	}
	return l.all(paths...)
}

func opencodeAllow(l *look) (hits []hit) {
	said := false
	for _, d := range opencode(l) {
		p := d.root.Get("permission")
		if p == nil {
			continue
		}
		said = true
		for _, n := range append([]*node{p}, append(p.All("*"), append(p.All("bash", "*"), p.All("edit", "*")...)...)...) {
			if n.Is("allow") && (n == p || n.Name == "*" || n.Name == "bash" || n.Name == "edit") {
				hits = append(hits, hit{path: d.path, line: n.Line, detail: "permission " + n.Name + " = allow"})
			}
		}
	}
	if !said && (l.agent("opencode") != nil || len(opencode(l)) > 0) {
		hits = append(hits, hit{path: l.config("opencode/opencode.json"), detail: "permission is not set"})
	}
	return hits
}
