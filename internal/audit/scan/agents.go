package scan

import "slices"

// What is harmless in the settings of Codex, Gemini CLI and opencode. They get new
// settings that run programs every month, so whatever is not here is taken out until
// somebody trusts it. The lists were read from the agents' own schemas: of Codex
// 0.166.0 (the names in the binary), Gemini CLI 0.61.0 (docs/reference/configuration.md
// of its package) and opencode 1.18.33 (the schema in the binary).

// codexPlain are settings of Codex that only choose among what is its own, in a profile
// and at the top.
var codexPlain = []string{"model", "review_model", "model_reasoning_effort", "plan_mode_reasoning_effort", "model_reasoning_summary", "model_verbosity",
	"personality", "service_tier", "web_search", "tools.web_search", "tools.view_image"}

var codexAllowed = slices.Concat(
	allow(nil, "", codexPlain...), allow(nil, "profiles.*", codexPlain...),
	allow(is("untrusted", "on-request", "on-failure"), "", "approval_policy", "profiles.*.approval_policy"),
	allow(is("read-only", "workspace-write"), "", "sandbox_mode", "profiles.*.sandbox_mode"),
	allow(bareWord, "", "model_context_window", "model_auto_compact_token_limit", "model_max_output_tokens", "project_doc_max_bytes", "tool_output_token_limit",
		"hide_agent_reasoning", "show_raw_agent_reasoning", "agents.max_threads", "agents.max_depth", "history.max_bytes"),
	allow(is("save-all", "none"), "", "history.persistence"),
	allow(is("false"), "", "analytics.enabled", "feedback.enabled", "check_for_update_on_startup"),
	allow(is("vscode", "vscode-insiders", "windsurf", "cursor", "none"), "", "file_opener"),
	allow(inProject, "", "project_doc_fallback_filenames"),
	allow(nil, "tui", "theme", "animations", "show_tooltips", "notifications", "notification_method", "notification_condition", "status_line", "alternate_screen"),
	// Of a role in .codex/agents.
	allow(nil, "", "name", "description", "developer_instructions", "nickname_candidates"),
)

var geminiAllowed = slices.Concat(
	allow(nil, "", "$schema", "output.format", "useWriteTodos", "privacy.usageStatisticsEnabled"),
	allow(nil, "general", "preferredEditor", "openEditorInNewWindow", "vimMode", "enableNotifications", "notificationMethod", "checkpointing.enabled", "plan.enabled",
		"plan.modelRouting", "retryFetchErrors", "maxAttempts", "topicUpdateNarration", "sessionRetention.enabled", "sessionRetention.maxAge",
		"sessionRetention.maxCount", "sessionRetention.minRetention"),
	allow(is("default", "plan"), "general", "defaultApprovalMode"),
	allow(is("false"), "", "general.enableAutoUpdate", "general.enableAutoUpdateNotification", "general.debugKeystrokeLogging", "telemetry.enabled", "telemetry.logPrompts"),
	allow(nil, "ui", "theme", "autoThemeSwitching", "hideWindowTitle", "inlineThinkingMode", "showStatusInTitle", "dynamicWindowTitle", "showHomeDirectoryWarning",
		"showCompatibilityWarnings", "hideTips", "escapePastedAtSymbols", "showShortcutsHint", "compactToolOutput", "hideBanner", "hideContextSummary", "footer.items",
		"footer.showLabels", "footer.hideCWD", "footer.hideSandboxStatus", "footer.hideModelInfo", "footer.hideContextPercentage", "hideFooter", "showMemoryUsage",
		"showLineNumbers", "showCitations", "showModelInfoInChat", "showUserIdentity", "useAlternateBuffer", "useBackgroundColor", "incrementalRendering", "showSpinner",
		"loadingPhrases", "errorVerbosity", "customWittyPhrases", "accessibility.enableLoadingPhrases", "accessibility.screenReader"),
	allow(nil, "model", "name", "maxSessionTurns", "compressionThreshold", "disableLoopDetection", "skipNextSpeakerCheck"),
	allow(inProject, "", "context.fileName", "context.includeDirectories", "includeDirectories", "contextFileName"),
	allow(nil, "context", "importFormat", "includeDirectoryTree", "discoveryMaxDirs", "loadMemoryFromIncludeDirectories", "fileFiltering.respectGitIgnore",
		"fileFiltering.respectGeminiIgnore", "fileFiltering.enableFileWatcher", "fileFiltering.enableRecursiveFileSearch", "fileFiltering.enableFuzzySearch",
		"fileFiltering.disableFuzzySearch"),
	allow(inProject, "", "context.fileFiltering.customIgnoreFilePaths"),
	allow(nil, "tools", "exclude", "confirmationRequired", "useRipgrep", "truncateToolOutputThreshold", "truncateToolOutputLines", "enableToolOutputTruncation",
		"disableLLMCorrection", "shell.enableInteractiveShell", "shell.showColor", "shell.inactivityTimeout", "shell.enableShellOutputEfficiency"),
	allow(narrow, "", "tools.allowed", "tools.core", "allowedTools", "coreTools"),
	allow(nil, "mcp", "allowed", "excluded"),
	allow(is("true"), "security", "toolSandboxing", "disableYoloMode", "disableAlwaysAllow", "blockGitExtensions", "environmentVariableRedaction.enabled"),
	allow(nil, "", "security.environmentVariableRedaction.blocked", "skills.disabled"),
	allow(bareWord, "contextManagement", "historyWindow.maxTokens", "historyWindow.retainedTokens", "messageLimits.normalMaxTokens", "messageLimits.retainedMaxTokens"),
	// As they were called before.
	allow(nil, "", "theme", "vimMode", "hideTips", "hideBanner", "hideFooter", "hideWindowTitle", "showMemoryUsage", "showLineNumbers", "preferredEditor", "maxSessionTurns",
		"usageStatisticsEnabled", "excludeTools", "fileFiltering.respectGitIgnore", "fileFiltering.respectGeminiIgnore", "fileFiltering.enableRecursiveFileSearch",
		"checkpointing.enabled", "accessibility.disableLoadingPhrases", "accessibility.screenReader"),
)

var opencodeAgent = []string{"model", "variant", "temperature", "top_p", "description", "mode", "hidden", "color", "steps", "maxSteps", "disable", "prompt"}

var opencodeAllowed = slices.Concat(
	allow(nil, "", "$schema", "logLevel", "theme", "username", "model", "small_model", "default_agent", "subagent_depth", "snapshot", "layout", "watcher.ignore",
		"disabled_providers", "enabled_providers", "tool_output.max_lines", "tool_output.max_bytes", "keybinds.*", "tui.scroll_speed", "tui.diff_style",
		"tui.scroll_acceleration.enabled"),
	allow(is("manual", "disabled"), "", "share"), allow(is("false"), "", "autoshare", "lsp", "formatter", "tools.*", "agent.*.tools.*", "mode.*.tools.*"),
	allow(is("false", "notify"), "", "autoupdate"),
	allow(is("true"), "", "lsp.*.disabled", "formatter.*.disabled"),
	allow(inProject, "", "instructions"),
	allow(bareWord, "", "compaction.auto", "compaction.prune", "compaction.tail_turns", "compaction.preserve_recent_tokens", "compaction.reserved",
		"attachment.image.auto_resize", "attachment.image.max_width", "attachment.image.max_height", "attachment.image.max_base64_bytes",
		"experimental.disable_paste_summary", "experimental.batch_tool", "experimental.continue_loop_on_deny", "experimental.mcp_timeout"),
	allow(nil, "agent.*", opencodeAgent...), allow(nil, "mode.*", opencodeAgent...),
	allow(nil, "command.*", "description", "agent", "model", "variant", "subtask"), allow(noShell, "", "command.*.template"),
	permissions(""), permissions("agent.*"), permissions("mode.*"),
	allow(nil, "provider.*", "name", "whitelist", "blacklist"),
	allow(bareWord, "provider.*.options", "timeout", "headerTimeout", "chunkTimeout", "setCacheKey"),
	allow(nil, "provider.*.models.*", "id", "name", "family", "release_date", "attachment", "reasoning", "temperature", "tool_call", "experimental", "status", "cost.input",
		"cost.output", "cost.cache_read", "cost.cache_write", "limit.context", "limit.input", "limit.output", "modalities.input", "modalities.output",
		"options.reasoningEffort", "options.textVerbosity", "options.reasoningSummary", "options.thinking.type", "options.thinking.budgetTokens"),
)

// permissions are those of opencode at one place: to ask or to refuse is always
// harmless, to allow what changes nothing outside of the project as well.
func permissions(below string) []allowed {
	return slices.Concat(
		allow(is("ask", "deny"), below, "permission", "permission.*", "permission.*.*"),
		allow(is("allow"), below, "permission.read", "permission.edit", "permission.glob", "permission.grep", "permission.list", "permission.todowrite",
			"permission.todoread", "permission.question", "permission.lsp", "permission.skill", "permission.task",
			"permission.edit.*", "permission.skill.*", "permission.task.*"),
	)
}
