package golden

// launches are the rows: agents, views, networks, flags, kinds of projects. Every
// row says in its name what is special about it. Those that are only planned would need
// git on PATH, limits that not every machine lends, or a session that stays.
var launches = []launch{
	// Agents.
	{name: "plain", args: "run -- tool"},
	{name: "plain-arguments", args: "run -- tool --flag a=b -- rest"},
	{name: "shell", args: "shell"},
	{name: "claude", args: "claude"},
	{name: "claude-key", args: "claude -- -p hello", env: []string{"ANTHROPIC_API_KEY=sk-ant-api03-cccccccccccccccccccccccccccccccc", "ANTHROPIC_MODEL=of-my-choice"}},
	{name: "claude-login", args: "claude", projects: "logins"},
	{name: "codex", args: "codex"},
	{name: "codex-key", args: "codex -- exec hello", env: []string{"OPENAI_API_KEY=sk-proj-cccccccccccccccccccccccccccccccc"}},
	{name: "codex-login", args: "codex", projects: "logins"},
	{name: "gemini", args: "gemini"},
	{name: "gemini-key", args: "gemini -- -p hello", env: []string{"GEMINI_API_KEY=AIzacccccccccccccccccccccccccccccccccccc"}},
	{name: "gemini-login", args: "gemini", projects: "logins"},
	{name: "opencode", args: "opencode"},
	{name: "opencode-login", args: "opencode -- run hello", projects: "logins"},

	// Views.
	{name: "view-review", args: "run --review -- tool"},
	{name: "view-review-claude", args: "claude --review", projects: "git settings"},
	{name: "view-review-policy", args: "run -- tool", projects: "review git"},
	{name: "view-live-over-policy", args: "run --live -- tool", projects: "review git"},
	{name: "view-clone", still: true, args: "run --clone -- tool", projects: "git"},
	{name: "view-clone-claude", still: true, args: "claude --clone", projects: "remotes"},
	{name: "view-readonly", args: "run --workspace ../project:ro -- tool"},

	// Networks.
	{name: "net-none", args: "run --net none -- tool"},
	{name: "net-none-claude", args: "claude --net none", projects: "servers"},
	{name: "net-locked-claude", args: "claude --net locked"},
	{name: "net-locked-codex", args: "codex --net locked"},
	{name: "net-internet", args: "run --net internet -- tool"},
	{name: "net-groups", args: "run --net dev,+rust,-docs -- tool"},
	{name: "net-hosts", args: "run --net locked --allow-host api.example.test --allow-host *.example.test:8443 --deny-host bad.example.test -- tool"},
	{name: "net-addresses", args: "run --allow-ip 10.1.2.3:5432 --allow-ip [fd00::1]:443 -- tool"},
	{name: "net-ports", args: "run --host-port 6379 --publish 3000 --publish 8080:3001 -- tool"},
	{name: "net-proxy", args: "run --proxy http://proxy.example.test:3128 -- tool"},

	// Flags.
	{name: "flag-files", args: "run --ro ../data --rw ../out --ro readme -- tool", projects: "rules"},
	{name: "flag-mask", args: "run --mask readme --mask absent -- tool"},
	{name: "flag-expose", args: "run --ro ../.ssh --expose ../.ssh -- tool"},
	{name: "flag-reveal", args: "run --reveal .env -- tool", projects: "dotenv"},
	{name: "flag-env", args: "run --env EDITION --env MADE=up --force-env LD_LIBRARY_PATH -- tool", env: []string{"EDITION=second", "LD_LIBRARY_PATH=/usr/lib", "SECRET_TOKEN=x"}},
	{name: "flag-limits", still: true, args: "run --pids 100 --memory 512MiB -- tool"},
	{name: "flag-name", still: true, args: "run --name demo --keep -- tool"},
	{name: "flag-detached", still: true, args: "claude -d --name demo -- -p hello"},
	{name: "flag-supply", args: "run --min-release-age 0 --install-scripts --allow-package npm:left-pad -- tool"},
	{name: "flag-workspaces", args: "run --workspace . --workspace ../second:ro -- tool", projects: "rules"},

	// Kinds of projects.
	{name: "git", args: "run -- tool", projects: "git"},
	{name: "git-below", args: "run -- tool", projects: "git", dir: "project/sub/deep"},
	{name: "git-remotes", args: "claude", projects: "remotes"},
	{name: "git-worktree", args: "run -- tool", projects: "worktree", dir: "tree"},
	{name: "git-worktree-review", args: "run --review -- tool", projects: "worktree", dir: "tree"},
	{name: "git-submodule", args: "run -- tool", projects: "submodule", dir: "super/lib"},
	{name: "git-super", args: "run -- tool", projects: "submodule", dir: "super"},
	{name: "git-bare", args: "run -- tool", projects: "bare", dir: "bare.git"},
	{name: "toolchains", args: "run -- tool", projects: "toolchains", env: []string{
		"PATH=" + home + "/.nvm/versions/node/v22/bin:" + home + "/.pyenv/shims:" + home + "/.cargo/bin:" + home + "/go/bin:" +
			home + "/.sdkman/candidates/java/current/bin:" + home + ":relative:" + home + "/.ssh:" + home + "/.local/bin",
		"NVM_DIR=" + home + "/.nvm", "CARGO_HOME=" + home + "/.cargo"}},
	{name: "toolchains-claude", args: "claude --net dev,+rust", projects: "toolchains", env: []string{"PATH=" + home + "/.cargo/bin:" + home + "/.local/bin"}},
	{name: "policy", args: "run -- tool", projects: "rules", env: []string{"EDITION=second"}},
	{name: "policy-claude-review", args: "claude --review", projects: "rules git", env: []string{"EDITION=second"}},
	{name: "project-untrusted", args: "run -- tool", projects: "wishes", env: []string{"WISHED=1"}},
	{name: "project-trusted", args: "run -- tool", projects: "wishes", before: "trust --yes", env: []string{"WISHED=1"}},
	{name: "secrets-masked", args: "run -- tool", projects: "dotenv"},
	{name: "secrets-masked-review", args: "claude --review", projects: "dotenv"},
	{name: "servers-claude", args: "claude", projects: "servers"},
	{name: "servers-codex", args: "codex --mcp mine", projects: "servers"},
	{name: "servers-gemini", args: "gemini", projects: "servers"},
	{name: "servers-opencode", args: "opencode", projects: "servers"},
	{name: "settings-claude", args: "claude", projects: "settings"},
	{name: "settings-claude-trusted", args: "claude", projects: "settings", before: "trust --yes"},
	{name: "settings-codex", args: "codex", projects: "settings"},
	{name: "settings-gemini", args: "gemini", projects: "settings"},
	{name: "settings-opencode", args: "opencode", projects: "settings"},
	{name: "broker-secrets", args: "run -- tool", projects: "secrets remotes", env: []string{"MY_GITHUB=ghp_cccccccccccccccccccccccccccccccccccc", "MY_NPM=npm_cccccccccccccccccccccccccccccccccccc", "MY_CORP=corp-cccccccccccc"}},
	{name: "broker-forge", args: "claude", projects: "logins", env: []string{"GH_TOKEN=ghp_cccccccccccccccccccccccccccccccccccc"}},
}
