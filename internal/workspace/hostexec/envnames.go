package hostexec

import (
	"slices"
	"strings"
	"unicode"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// LeadsAstray holds for a variable that makes a program load code, or that leads an
// agent, or what it starts, elsewhere. A name with an unusual character may be one: "A=B"
// with the value C is A with the value B=C for some, and shells take functions from names
// with "%%".
func LeadsAstray(name string) bool {
	name = strings.TrimPrefix(strings.TrimSpace(name), "export ")
	if strings.ContainsFunc(name, func(r rune) bool {
		return r > 'z' || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-", r)
	}) {
		return true
	}
	if row, ok := knownsecrets.Env(name); ok && row.Class != knownsecrets.Secret {
		return true
	}
	name = strings.ToUpper(name)
	like := func(pattern string) bool { return file.Star(pattern, name) }
	return slices.ContainsFunc(leads, like) && !slices.ContainsFunc(public, like)
}

// leads are variables that lead an agent, or what it starts, elsewhere.
var leads = []string{
	"ANTHROPIC_*_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_UNIX_SOCKET", "OPENAI_BASE_URL",
	"OPENAI_API_BASE", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AWS_ENDPOINT_URL*",
	"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GEMINI_SANDBOX*", "GEMINI_CLI_*", "GEMINI_SYSTEM_MD", "GEMINI_YOLO*", "SANDBOX_*", "SEATBELT_PROFILE",
	"CODEX_HOME", "CODEX_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_*WRAPPER*", "CLAUDE_CODE_SHELL*", "CLAUDE_CODE_API_BASE_URL", "CLAUDE_CODE_OAUTH*",
	"CLAUDE_CODE_CUSTOM_OAUTH_URL", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SKIP_*_AUTH", "CLAUDE_CODE_CLIENT_*", "CLAUDE_ENV_FILE", "CLAUDE_CODE_PLUGIN*", "OTEL_EXPORTER_*", "OPENCODE_*",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_OPTIONS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "LD_PRELOAD",
	"LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "GIT_SSH*", "GIT_CONFIG*", "GIT_EXEC_PATH", "GIT_ASKPASS", "PYTHONSTARTUP",
	"PATH", "HOME", "SHELL", "XDG_CONFIG_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "IS_SANDBOX",
	"NPM_CONFIG_*", "YARN_*", "PNPM_*", "BUN_*", "PIP_*", "UV_*", "POETRY_*", "CARGO_*", "RUSTC*", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "MAKEFLAGS", "EDITOR", "VISUAL", "PAGER", "*_PAGER", "*_EDITOR",
	"GIT_*", "LESS*", "BROWSER", "NODE_PATH", "PYTHON*", "PERL5*", "RUBY*", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_*", "GRADLE_*", "BUNDLE_*", "BASH_FUNC_*", "PS4", "SHELLOPTS",
	"BASHOPTS", "LD_*", "TMPDIR", "CLAUDE_CODE_GIT_BASH_PATH", "USE_BUILTIN_RIPGREP", "CLAUDE_CODE_USE_*", "CLAUDE_CODE_ENABLE_TELEMETRY", "DOCKER_HOST", "KUBECONFIG",
	// Files in which logins name programs: external_account with an executable, credential_process, credHelpers.
	"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_EXTERNAL_ACCOUNT_*", "CLOUDSDK_*", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONTAINER_*", "AZURE_CONFIG_DIR", "DOCKER_CONFIG", "BUILDX_CONFIG", "HELM_*", "GNUPGHOME",
	// Programs, and directories of programs and of settings, of what an agent or a shell starts.
	"MANPAGER", "FZF_DEFAULT_*", "XDG_*", "CURL_HOME", "WGETRC", "NIX_*", "ANSIBLE_*", "TF_CLI_*", "KUBECTL_*", "PSQLRC", "PGSERVICEFILE", "PGSYSCONFDIR", "MYSQL_HOME", "LIBMYSQL_*",
	"COREPACK_*", "VOLTA_*", "NVM_DIR", "ASDF_*", "MISE_*", "DIRENV_*", "RUSTUP_*", "RUSTFLAGS", "GEM_HOME", "GEM_PATH", "COMPOSER_HOME", "TS_NODE_*", "DENO_*", "ELIXIR_ERL_OPTIONS",
	"JAVA_HOME", "JAVA_OPTS", "CATALINA_*", "CC", "CXX", "COMPILER_PATH", "GCC_EXEC_PREFIX", "GOENV", "GOROOT", "GOBIN", "GOWORK", "CGO_*", "GUILE_*", "OCAMLRUNPARAM", "VIMRUNTIME", "NVIM_APPNAME", "LEFTHOOK_*", "PRE_COMMIT_*",
}

// public are names that look like one of them and lead nowhere.
var public = []string{"CODEX_QUIET_MODE", "OPENCODE_DISABLE_*", "OTEL_EXPORTER_*_PROTOCOL", "OTEL_EXPORTER_*_TIMEOUT", "CODEX_SANDBOX*",
	"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_TERMINAL_PROMPT", "CARGO_TERM_*", "CARGO_INCREMENTAL"}
