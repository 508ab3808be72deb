package scan

import (
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// form is how a file is read, and how it is written without what was found.
type form int

const (
	asJSON form = iota
	asTOML
	asYAML  // keys of the first column, each with its block
	asLines // NAME=VALUE
	asCode  // a program: all of it counts
	asFront // text with settings at its head
	asGit   // git's configuration
)

// rule says what is dangerous in files of some names.
type rule struct {
	files []string // with their parents, at any depth; "*" within a name
	form  form
	keys  []key
	// allowed, if there are any, are all that passes beside what keys names.
	allowed []allowed
	code    kind
	// shown: the file is not changed inside, because nobody inside obeys it.
	shown bool
	// partly: others rewrite the file all the time, so trust is for what was found.
	partly  bool
	written *written // what the reader puts into the values, nil if nothing
	bare    bool     // git's, of a directory that is none of git's by its name
	// above: the file makes a program of the directory so many levels above it. All that
	// is in there is trusted with it.
	above int
	who   string // if the names do not say it
	when  string
}

// key is a setting. Names are joined by "."; "*" is any one name, "**" any number of
// them, "[]" the elements of a list.
type key struct {
	kind kind
	path string
	test func(name string, v *node) bool // nil: always
}

func keys(k kind, paths ...string) []key {
	var out []key
	for _, p := range paths {
		out = append(out, key{k, p, nil})
	}
	return out
}

func tested(k kind, test func(string, *node) bool, paths ...string) []key {
	out := keys(k, paths...)
	for i := range out {
		out[i].test = test
	}
	return out
}

func join(lists ...[]key) []key {
	var out []key
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// odd is for every file of settings: a name that means something to the language the
// agent is written in.
var odd = keys(kUnclear, "**.__proto__")

var claudeKeys = join(
	keys(kHook, "hooks"),
	tested(kEnv, badEnv, "env.*"),
	tested(kUpdate, updates, "env.*"),
	tested(kUpdate, truth, "autoUpdates"),
	keys(kHelper, "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper", "statusLine",
		"subagentStatusLine", "fileSuggestion", "proxyAuthHelper", "*Helper", "*Command"),
	keys(kServer, "mcpServers"),
	tested(kServer, truth, "enableAllProjectMcpServers"),
	tested(kServer, filled, "enabledMcpjsonServers"),
	tested(kAllow, bypasses, "permissions.defaultMode"),
	tested(kAllow, broad, "permissions.allow.[]"),
	tested(kAllow, truth, "skipDangerousModePermissionPrompt", "bypassPermissionsModeAccepted", "skipAutoPermissionPrompt"),
	tested(kDirs, outside, "permissions.additionalDirectories.[]"),
	tested(kSandbox, lie, "sandbox.enabled", "sandbox.failIfUnavailable"),
	tested(kSandbox, truth, "sandbox.allowUnsandboxedCommands", "sandbox.enableWeakerNestedSandbox", "sandbox.enableWeakerNetworkIsolation",
		"sandbox.network.allowAllUnixSockets", "sandbox.network.allowLocalBinding"),
	tested(kSandbox, filled, "sandbox.excludedCommands", "sandbox.ignoreViolations", "sandbox.network.allowUnixSockets", "sandbox.network.httpProxyPort",
		"sandbox.network.socksProxyPort", "sandbox.filesystem.allowWrite", "sandbox.filesystem.allowRead"),
	tested(kSandbox, everything, "sandbox.network.allowedDomains.[]"),
	tested(kPlugin, filled, "enabledPlugins", "extraKnownMarketplaces", "pluginConfigs"),
	keys(kHook, "disableAllHooks"), // the user's own, too
	odd,
	// What is left is known to be harmless, or goes.
	tested(kUnknown, unlike("$schema", "model", "availableModels", "language", "theme", "cleanupPeriodDays", "includeCoAuthoredBy", "includeGitInstructions", "attribution", "permissions", "env",
		"sandbox", "outputStyle", "alwaysThinkingEnabled", "effortLevel", "fastMode", "spinnerTipsEnabled", "spinnerTipsOverride", "spinnerVerbs", "companyAnnouncements", "respectGitignore",
		"showTurnDuration", "terminalProgressBarEnabled", "prefersReducedMotion", "verbose", "editorMode", "disabledMcpjsonServers", "autoUpdates", "autoUpdatesChannel", "enableAllProjectMcpServers",
		"enabledMcpjsonServers", "enabledPlugins", "extraKnownMarketplaces", "mcpServers", "hooks", "claudeMdExcludes", "skipDangerousModePermissionPrompt", "feedbackSurveyRate"), "*"),
	tested(kUnknown, unlike("allow", "deny", "ask", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode"), "permissions.*"),
	tested(kUnknown, unlike("enabled", "failIfUnavailable", "network", "filesystem", "allowUnsandboxedCommands", "excludedCommands", "enableWeakerNestedSandbox", "enableWeakerNetworkIsolation", "ignoreViolations"), "sandbox.*"),
	tested(kUnknown, unlike("allowedDomains", "deniedDomains", "allowAllUnixSockets", "allowLocalBinding", "allowUnixSockets", "httpProxyPort", "socksProxyPort"), "sandbox.network.*"),
	tested(kUnknown, unlike("denyRead", "denyWrite", "allowRead", "allowWrite"), "sandbox.filesystem.*"),
)

var serverKeys = join(tested(kServer, filled, "mcpServers.*", "servers.*", "mcp.servers.*", "mcp_servers.*"), odd)

var geminiKeys = join(
	keys(kHook, "hooks"),
	tested(kServer, filled, "mcpServers.*"), keys(kServer, "mcp.serverCommand", "mcpServerCommand"),
	keys(kHelper, "tools.discoveryCommand", "tools.callCommand", "toolDiscoveryCommand", "toolCallCommand", "bugCommand", "advanced.bugCommand"),
	tested(kAllow, truth, "autoAccept", "tools.autoAccept", "security.folderTrust.trusted"),
	tested(kAllow, bypasses, "general.defaultApprovalMode", "tools.approvalMode"),
	tested(kAllow, broad, "tools.allowed.[]", "allowedTools.[]", "coreTools.[]"),
	keys(kSandbox, "sandbox", "tools.sandbox"),
	tested(kDirs, outside, "includeDirectories.[]", "context.includeDirectories.[]"),
	keys(kEndpoint, "telemetry.otlpEndpoint", "telemetry.target", "telemetry.outfile", "proxy", "security.auth.baseUrl", "baseUrl"),
	tested(kPlugin, filled, "extensions", "experimental.extensionManagement"),
	tested(kAllow, filled, "policyPaths", "adminPolicyPaths"),
	odd,
)

var opencodeKeys = join(
	tested(kServer, filled, "mcp.*"),
	tested(kPlugin, filled, "plugin", "plugins"),
	tested(kHelper, commands, "lsp.*", "formatter.*"),
	keys(kHook, "hooks", "experimental.hook"),
	tested(kEndpoint, filled, "provider.*.options.baseURL", "provider.*.api", "provider.*.npm", "provider.*.models.*.provider"),
	tested(kAllow, broadPermission, "permission", "permission.*", "agent.*.permission", "agent.*.permission.*", "mode.*.permission", "mode.*.permission.*"),
	tested(kHelper, filled, "shell"), tested(kUpdate, truth, "autoupdate"),
	tested(kPlugin, address, "instructions.[]", "theme"),
	odd,
)

// tuiKeys are of opencode's settings for its terminal, as 1.18.33 reads them: the
// plugins named there run in its process.
var tuiKeys = join(
	keys(kPlugin, "plugin", "plugins", "plugin_enabled"),
	odd,
	tested(kUnknown, unlike("$schema", "theme", "keybinds", "leader_timeout", "attention", "prompt", "scroll_speed", "scroll_acceleration", "diff_style", "cursor", "mouse"), "*"),
	keys(kUnknown, "attention.sounds"),
)

var codexKeys = join(
	tested(kServer, filled, "mcp_servers.*"),
	keys(kHelper, "notify", "profiles.*.notify", "experimental_instructions_file"),
	keys(kHook, "hooks"),
	tested(kEndpoint, filled, "model_providers.*", "openai_base_url", "chatgpt_base_url", "profiles.*.openai_base_url", "otel"),
	keys(kEndpoint, "model_provider", "profiles.*.model_provider"),
	tested(kAllow, bypasses, "approval_policy", "profiles.*.approval_policy"),
	keys(kAllow, "projects", "features.bypass_hook_trust"),
	tested(kSandbox, bypasses, "sandbox_mode", "profiles.*.sandbox_mode"),
	keys(kSandbox, "sandbox_workspace_write", "shell_environment_policy", "permissions", "default_permissions"),
	tested(kPlugin, filled, "plugins", "marketplaces", "skills"),
	odd,
)

var anyAgentKeys = join(
	keys(kHook, "hooks"),
	serverKeys,
	tested(kHelper, commands, "**.command"),
	tested(kAllow, truth, "**.yolo", "**.autoApprove", "**.alwaysAllow"),
	tested(kAllow, broad, "permissions.allow.[]"),
)

var taskKeys = join(
	tested(kTask, word("folderopen"), "**.runOptions.runOn", "**.runOn"),
)

var editorKeys = append(programKeys(), []key{
	{kTask, "**.task.allowAutomaticTasks", word("on")},
	{kAllow, "**.chat.tools.autoApprove", truth},
	{kAllow, "**.chat.tools.global.autoApprove", truth},
	{kAllow, "**.security.workspace.trust.enabled", lie},
	{kServer, "**.mcp.servers.**", filled}, // a server's name may have dots, as the setting's has
	{kServer, "context_servers.**", filled},
	{kEnv, "**.terminal.integrated.env.linux.*", badEnv},
	{kEnv, "**.terminal.integrated.env.osx.*", badEnv},
}...)

// programKeys are editors' settings whose names say that they are programs, or maps or
// lists of them.
func programKeys() []key {
	var out []key
	for _, end := range []string{"path", "executable", "command", "binary", "interpreter", "shell", "program", "server", "tools", "runtime", "wrapper", "tsdk", "pluginPaths"} {
		out = append(out, tested(kEditor, runsInTree, "**.*"+end, "**.*"+end+".**")...)
	}
	return out
}

var containerKeys = join(
	keys(kContainer, "initializeCommand"),
	tested(kContainer, truth, "privileged"),
	tested(kContainer, opensHost, "mounts.[]", "mounts.[].source", "runArgs.[]", "workspaceMount"),
	keys(kSetup, "onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand"),
)

// rules is what is looked at. The names are among those of package hostexec, which
// says by whom they are executed and when.
var rules = []rule{
	{files: []string{".claude/settings.json"}, form: asJSON, keys: claudeKeys},
	{files: []string{".claude/settings.local.json"}, form: asJSON, keys: claudeKeys, partly: true},
	// A plugin below skills loads if its manifest can be read; the others are what it
	// loads by their names alone.
	{files: []string{".claude/skills/*/.claude-plugin/plugin.json", ".claude/skills/*/hooks/hooks.json", ".claude/skills/*/monitors/monitors.json"}, form: asCode, code: kPlugin, above: 2},
	{files: []string{".claude/skills/*/.mcp.json", ".claude/skills/*/.lsp.json", ".claude/skills/*/settings.json"}, form: asCode, code: kPlugin, above: 1},
	{files: []string{".claude/workflows/**/*.js", ".claude/workflows/**/*.mjs", ".claude/workflows/**/*.ts", ".claude/skills/*/workflows/**/*.js"}, form: asCode, code: kPlugin},
	{files: []string{".claude/scheduled_tasks.json"}, form: asCode, code: kPrompt},
	{files: []string{".mcp.json", "mcp.json", ".cursor/mcp.json", ".github/mcp.json", ".roo/mcp.json", ".kilocode/mcp.json", ".amazonq/mcp.json",
		".kiro/settings/mcp.json", ".junie/mcp/mcp.json", ".factory/mcp.json", ".trae/mcp.json", ".vscode/mcp.json"}, form: asJSON, keys: serverKeys},
	{files: []string{".gemini/settings.json", ".qwen/settings.json"}, form: asJSON, keys: geminiKeys, allowed: geminiAllowed, written: geminiWrites},
	{files: []string{".gemini/extensions/*/gemini-extension.json"}, form: asJSON, keys: anyAgentKeys},
	{files: []string{"opencode.json", "opencode.jsonc", ".opencode.json", ".opencode/opencode.json", ".opencode/opencode.jsonc"}, form: asJSON, keys: opencodeKeys, allowed: opencodeAllowed, written: opencodeWrites},
	{files: []string{"tui.json", "tui.jsonc"}, form: asJSON, keys: tuiKeys, written: opencodeWrites},
	{files: []string{".opencode/plugin/*.ts", ".opencode/plugin/*.js", ".opencode/plugins/*.ts", ".opencode/plugins/*.js", ".opencode/tool/*.ts",
		".opencode/tool/*.js", ".opencode/tools/*.ts", ".opencode/tools/*.js"}, form: asCode, code: kPlugin},
	{files: []string{".codex/config.toml", ".codex/agents/**/*.toml"}, form: asTOML, keys: codexKeys, allowed: codexAllowed},
	{files: []string{".codex/rules/**/*.rules", ".gemini/policies/**/*.toml"}, form: asCode, code: kAllow},
	{files: []string{".codex/hooks.json", ".cursor/hooks.json", ".cursor/cli.json", ".cursor/environment.json", ".github/hooks/*.json", "crush.json",
		".crush.json", ".factory/settings.json", ".augment/settings.json", ".amp/settings.json", ".continue/config.json", ".windsurf/hooks.json",
		".kiro/agents/*.json", ".devin/config.json"}, form: asJSON, keys: anyAgentKeys},
	{files: []string{".claude/agents/**/*.md", ".claude/commands/**/*.md", ".claude/skills/**/*.md", ".claude/output-styles/**/*.md",
		".agents/skills/**/*.md", ".github/agents/**/*.md", ".github/skills/**/*.md", ".opencode/agent/**/*.md", ".opencode/agents/**/*.md", ".opencode/mode/*.md", ".opencode/modes/*.md",
		".opencode/command/**/*.md", ".opencode/commands/**/*.md", ".opencode/skill/**/*.md", ".opencode/skills/**/*.md"}, form: asFront,
		keys: join(keys(kHook, "hooks"), keys(kServer, "mcpServers", "mcp-servers"), tested(kAllow, bypasses, "permissionMode", "permission-mode"),
			tested(kAllow, broadTools, "allowed-tools", "allowedTools"), tested(kAllow, saysAllow, "permission", "permissions"))},
	// Gemini CLI runs a command that stands in auth ("!…") when it loads a remote agent. It
	// asks once, and then knows the agent by its address alone.
	{files: []string{".gemini/agents/**/*.md", ".qwen/agents/**/*.md"}, form: asFront,
		keys: join(keys(kHelper, "auth"), keys(kServer, "mcp_servers", "mcpServers", "mcp-servers", "agent_card_url", "agent_card_json"), keys(kHook, "hooks"))},
	{files: []string{".env", ".env.local", ".env.development", ".gemini/.env", ".codex/.env", ".claude/.env"}, form: asLines, partly: true,
		keys: tested(kEnv, badLine, "*")},
	{files: []string{".yarnrc.yml"}, form: asYAML, keys: join(keys(kYarn, "yarnPath", "plugins"), tested(kYarn, lie, "enableStrictSsl"),
		keys(kYarn, "injectEnvironmentFiles", "unsafeHttpWhitelist", "httpProxy", "httpsProxy"))},
	{files: []string{".yarnrc"}, form: asLines, keys: keys(kYarn, "yarn-path", "yarnpath", "script-shell", "child-process-spawn", "--*")},
	// opencode installs packages in its own directory when it starts.
	{files: []string{".npmrc", ".opencode/.npmrc"}, form: asLines, keys: join(keys(kNpm, "script-shell", "shell", "node-options", "git", "onload-script", "init-module",
		"init.module", "userconfig", "globalconfig", "pnpmfile", "global-pnpmfile", "editor", "viewer", "npmpath", "node-gyp", "python",
		"scripts-prepend-node-path"), tested(kNpm, lie, "strict-ssl"), keys(kNpm, "proxy", "https-proxy", "http-proxy", "noproxy", "?"))},
	{files: []string{".pnpmfile.cjs", ".pnpmfile.mjs"}, form: asCode, code: kPnpm, shown: true},
	{files: []string{".vscode/tasks.json", ".zed/tasks.json"}, form: asJSON, keys: taskKeys, shown: true},
	{files: []string{".vscode/settings.json", ".zed/settings.json", ".vim/coc-settings.json"}, form: asJSON, keys: editorKeys, shown: true},
	{files: []string{"*.code-workspace"}, form: asJSON, keys: join(taskKeys, editorKeys), shown: true},
	{files: []string{".devcontainer/devcontainer.json", ".devcontainer.json", ".devcontainer/*/devcontainer.json"}, form: asJSON, keys: containerKeys,
		shown: true},
	{files: []string{".idea/startup.xml"}, form: asCode, code: kStartup, shown: true},
	{files: []string{".envrc"}, form: asCode, code: kDirenv, shown: true},
	{files: []string{".mise.toml", "mise.toml", ".config/mise.toml", ".config/mise/config.toml", "mise/config.toml", ".mise/config.toml"}, form: asTOML,
		keys: keys(kMise, "hooks", "env._", "env.*._", "watch_files"), shown: true},
	{files: []string{".git/config", ".git/config.worktree"}, form: asGit, partly: true},
	{files: []string{".gitmodules"}, form: asGit, shown: true},
}

// badEnv: a variable that loads code, or leads an agent elsewhere.
func badEnv(name string, _ *node) bool { return hostexec.LeadsAstray(name) }

// badLine is badEnv for a file of them, where a value may be a command too.
func badLine(name string, v *node) bool { return hostexec.EnvDanger(name, v.Text) != "" }

// updates: the variables that decide whether an agent replaces itself.
func updates(name string, _ *node) bool {
	name = strings.ToUpper(name)
	return globs([]string{"DISABLE_AUTOUPDATER", "DISABLE_UPDATES", "FORCE_AUTOUPDATE*"}, name)
}

func globs(patterns []string, name string) bool {
	for _, p := range patterns {
		if file.Star(p, name) {
			return true
		}
	}
	return false
}
