package hostexec

import (
	"strings"
	"testing"
)

func builtinRules(t testing.TB) *Rules {
	t.Helper()
	r, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// held lists paths of files with the root that is held for them.
var held = map[string]string{
	// git
	".git":                                 ".git",
	"lib/.git":                             "lib/.git",
	".git/config":                          ".git/config",
	"a/.git/config":                        "a/.git/config",
	".git/config.worktree":                 ".git/config.worktree",
	".git/hooks":                           ".git/hooks",
	".git/hooks/pre-commit":                ".git/hooks",
	".git/hooks/x/y":                       ".git/hooks",
	".git/info":                            ".git/info",
	".git/info/attributes":                 ".git/info/attributes",
	".git/commondir":                       ".git/commondir",
	".git/modules/lib/config":              ".git/modules/lib/config",
	".git/modules/a/b/config":              ".git/modules/a/b/config",
	".git/modules/a/hooks/post-checkout":   ".git/modules/a/hooks",
	".git/modules/refs/config":             ".git/modules/refs/config",
	".git/modules/hooks/config":            ".git/modules/hooks",
	".git/modules/a/modules/objects/hooks": ".git/modules/a/modules/objects/hooks",
	".git/worktrees/logs/config.worktree":  ".git/worktrees/logs/config.worktree",
	".git/worktrees/wt/commondir":          ".git/worktrees/wt/commondir",
	".git/worktrees/wt/gitdir":             ".git/worktrees/wt/gitdir",
	".git/worktrees/wt/modules/x/config":   ".git/worktrees/wt/modules/x/config",
	".git/refs/heads/.git/config":          ".git/refs/heads/.git",
	".git/refs/.vscode/tasks.json":         ".git/refs/.vscode",
	".git/agents/wt/.envrc":                ".git/agents",
	"docs/HEAD":                            "docs/HEAD",
	"docs/head":                            "docs/head",
	".hg/hgrc":                             ".hg/hgrc",
	".jj/repo":                             ".jj/repo",
	".jj/repo/config.toml":                 ".jj/repo/config.toml",
	".husky/pre-commit":                    ".husky",
	".husky/_/husky.sh":                    ".husky",
	".githooks/pre-push":                   ".githooks",
	".pre-commit-config.yaml":              ".pre-commit-config.yaml",
	"lefthook.yml":                         "lefthook.yml",
	".config/lefthook.yml":                 ".config/lefthook.yml",
	"web/.lintstagedrc.mjs":                "web/.lintstagedrc.mjs",
	// editors
	".vscode":                         ".vscode",
	".vscode/tasks.json":              ".vscode",
	"packages/x/.vscode/a/b":          "packages/x/.vscode",
	".idea/workspace.xml":             ".idea",
	"my.code-workspace":               "my.code-workspace",
	".zed/tasks.json":                 ".zed",
	".devcontainer/devcontainer.json": ".devcontainer",
	".devcontainer.json":              ".devcontainer.json",
	".nvim.lua":                       ".nvim.lua",
	".bsp/sbt.json":                   ".bsp",
	".project":                        ".project",
	"app/.settings/x.prefs":           "app/.settings",
	".factorypath":                    ".factorypath",
	".trunk/trunk.yaml":               ".trunk/trunk.yaml",
	"gemini-extension.json":           "gemini-extension.json",
	"src/.exrc":                       "src/.exrc",
	".dir-locals.el":                  ".dir-locals.el",
	// shells
	".envrc":                ".envrc",
	"deep/down/.envrc":      "deep/down/.envrc",
	".direnv/flake-profile": ".direnv",
	".mise.toml":            ".mise.toml",
	"mise.local.toml":       "mise.local.toml",
	".config/mise.toml":     ".config/mise.toml",
	".config/mise/conf.d/x": ".config/mise",
	".mise/tasks/x":         ".mise",
	".config":               ".config",
	// agents
	".claude":                                   ".claude",
	".claude/settings.json":                     ".claude/settings.json",
	".claude/settings.local.json":               ".claude/settings.local.json",
	".claude/package.json":                      ".claude/package.json",
	".claude/hooks/x.sh":                        ".claude/hooks",
	".claude/commands/a/b.md":                   ".claude/commands",
	".claude/skills/x/SKILL.md":                 ".claude/skills",
	".claude/worktrees/w/.claude/settings.json": ".claude/worktrees/w/.claude/settings.json",
	".claude/worktrees/w/.git":                  ".claude/worktrees/w/.git",
	".claude/worktrees/w/packages/.vscode/x":    ".claude/worktrees/w/packages/.vscode",
	".mcp.json":                                 ".mcp.json",
	"mcp.json":                                  "mcp.json",
	".codex/config.toml":                        ".codex",
	".gemini/settings.json":                     ".gemini",
	".cursor/mcp.json":                          ".cursor",
	"opencode.json":                             "opencode.json",
	"tui.json":                                  "tui.json",
	"a/b/tui.jsonc":                             "a/b/tui.jsonc",
	".github/hooks/x.json":                      ".github/hooks",
	".kiro/hooks/a.hook":                        ".kiro/hooks",
	".roomodes":                                 ".roomodes",
	".clinerules/hooks/PreToolUse":              ".clinerules/hooks",
	".aider.conf.yml":                           ".aider.conf.yml",
	".ringfence.toml":                           ".ringfence.toml",
	".ringfence.env":                            ".ringfence.env",
	// other spellings
	".GIT/hooks/pre-commit":         ".GIT/hooks",
	".Git/Config":                   ".Git/Config",
	".Claude/settings.json":         ".Claude/settings.json",
	".v\u017fcode/tasks.json":       ".v\u017fcode",
	"a/.g\u200cit/hooks/pre-commit": "a/.g\u200cit/hooks",
	".\u212airo/hooks/x":            ".\u212airo/hooks",
}

func TestHeld(t *testing.T) {
	r := builtinRules(t)
	for rel, root := range held {
		v := r.Judge(rel, false)
		if !v.Hold || v.Rank != Unasked || v.Root != root || v.Who == "" || v.When == "" || v.Why == "" || v.Rule == "" {
			t.Errorf("%q: %+v, want held at %q", rel, v, root)
		}
		if got, ok := r.HoldRoot(rel); got != root || !ok {
			t.Errorf("HoldRoot(%q) = %q, %v, want %q", rel, got, ok, root)
		}
	}
}

// ranked lists paths of files that are not held.
var ranked = map[Rank][]string{
	Asked: {
		"CLAUDE.md", "AGENTS.md", "pkg/GEMINI.md", ".cursorrules", ".github/copilot-instructions.md", ".claude/CLAUDE.md",
		".claude/rules/go.md", ".kiro/steering/a.md", ".clinerules", ".clinerules/style.md", ".roo/rules-code/x.md",
		"package.json", "packages/a/package.json", ".npmrc", ".yarnrc.yml", ".yarn/plugins/x.cjs", ".yarn/releases/yarn.cjs",
		".pnpmfile.cjs", "bunfig.toml", "Makefile", "GNUmakefile", "build/rules.mk", "justfile", "Taskfile.yml", "Rakefile",
		"CMakeLists.txt", "cmake/x.cmake", ".bazelrc", "BUILD", "BUILD.bazel", "WORKSPACE", "meson.build", "SConstruct", "gradlew",
		"mvnw", ".mvn/jvm.config", "gradle/wrapper/gradle-wrapper.properties", "build.gradle", "app/build.gradle.kts", "pom.xml",
		"setup.py", "setup.cfg", "pyproject.toml", "tests/conftest.py", "sitecustomize.py", "x/usercustomize.py", "a.pth", "tox.ini",
		"noxfile.py", "build.rs", ".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml", "Dockerfile",
		"Dockerfile.dev", "compose.yml", "compose.override.yaml", "docker-compose.yml", ".dockerignore", "Vagrantfile",
		".github/workflows/x.yml", ".github/actions/a/action.yml", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile",
		".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml", ".woodpecker/a.yml",
		".buildkite/pipeline.yml", ".forgejo/workflows/x.yml", ".gitea/workflows/x.yml", ".teamcity/settings.kts", "appveyor.yml",
		"cloudbuild.yaml", ".gitattributes", ".gitmodules", ".lfsconfig", ".bashrc", ".profile", ".zshrc", ".bash_profile",
		".zshenv", ".inputrc", ".tmux.conf", ".gdbinit", ".lldbinit", ".pdbrc", ".Rprofile", ".irbrc", ".pryrc", ".psqlrc",
		".ripgreprc", ".bash_aliases", ".config/fish/config.fish", ".config/autostart/x.desktop", ".config/systemd/user/x.service",
		".local/share/applications/x.desktop", ".xprofile", ".pam_environment", ".config/environment.d/x.conf",
		"node_modules/.bin/git", "vendor/bin/phpunit", ".venv/bin/python", "venv/bin/activate", "env/bin/activate.fish", "main.tf",
		"Procfile", ".eslintrc.js", "vite.config.ts", "jest.config.cjs", ".git/refs/replace/0123", ".git/rebase-merge/git-rebase-todo", ".tool-versions", ".nvmrc", ".python-version",
	},
	Secret: {
		".env", ".env.local", "api/.env.production", "server.pem", "id_rsa", "id_ed25519", "tls.key", "a.p12", "a.pfx", "a.jks",
		"a.keystore", "gcp-credentials-prod.json", "service-account-x.json", "terraform.tfstate", "terraform.tfstate.backup",
		"pw.kdbx", ".netrc", ".pgpass", ".htpasswd", "dump-2024.sql", "prod.dump", "prod.sql.gz",
	},
	Source: {
		"", ".", "main.go", "src/config/hooks/index.ts", "docs/HEAD.md", "docs/HEAD/x.md", "HEADER", "src/hooks/useThing.ts",
		"config", "src/config", "info/attributes", "commondir", ".github/ISSUE_TEMPLATE.md", ".github/dependabot.yml", ".mailmap",
		".gitignore", ".git/HEAD", ".git/index", ".git/index.lock", ".git/config.lock", ".git/COMMIT_EDITMSG", ".git/packed-refs",
		".git/info/exclude", ".git/refs/heads/package.json", ".git/logs/HEAD",
		".git/objects/ab/0123456789012345678901234567890123456789", ".git/modules/lib/HEAD", ".git/worktrees/wt/HEAD",
		".git/worktrees/wt/index", ".git/worktrees/wt/logs/HEAD",
		".claude/todos/x.json", ".claude/plans/a.md", ".claude/worktrees/w/main.go", ".claude/worktrees/w/src/config/hooks/a.ts",
		".kiro/specs/a/tasks.md", "vscode/tasks.json", "x.vscode/y", "git/config", "my.git.md", ".env.example", ".env.sample",
		".env.template", ".env.dist", "api/.env.local.example", "id_rsa.pub", "builder.go", "build/main.js", "cmd/head/main.go",
		"dockerfile_parser.go", "test/claude.go", "environment.ts", "src/mcp.json", "makefile_test.go", "husky/readme.md",
		"keys.go", "monkey", "settings.json", "hooks/pre-commit.md", ".editorconfig", "LICENSE", "claude", "src/codex/config.toml",
		"日本語/config.md", "a\xffb", ".git-blame-ignore-revs", ".gitkeep", ".gitea/issue_template.md",
	},
}

func TestRanks(t *testing.T) {
	r := builtinRules(t)
	for rank, paths := range ranked {
		for _, rel := range paths {
			v := r.Judge(rel, false)
			if v.Rank != rank || v.Hold || v.Root != "" {
				t.Errorf("%q: %+v, want %v", rel, v, rank)
			}
			if root, ok := r.HoldRoot(rel); ok {
				t.Errorf("HoldRoot(%q) = %q", rel, root)
			}
		}
	}
}

// TestDirectories: a directory is held by what is said of directories only.
func TestDirectories(t *testing.T) {
	r := builtinRules(t)
	for rel, want := range map[string]bool{
		".git": false, "sub/.git": false, ".git/info": false, ".git/modules": false, ".git/modules/config": false, ".git/hooks": true,
		".claude": false, ".claude/hooks": true, ".claude/worktrees": false, ".vscode": true, "docs/HEAD": false, ".envrc": false,
		".config": false, ".config/mise": true, ".github": false, ".github/hooks": true, "hooks": false, ".git/refs/heads/hooks": true,
	} {
		if v := r.Judge(rel, true); v.Hold != want {
			t.Errorf("directory %q: %+v, want held: %v", rel, v, want)
		}
	}
}

func TestLinksInTheirPlace(t *testing.T) {
	r := builtinRules(t)
	for rel, want := range map[string]bool{
		".git": true, ".git/modules": true, ".git/modules/lib": true, ".git/worktrees/wt": true, ".git/info": true, ".git/anything": true,
		".claude": true, ".github": true, "mise": true, "docs/link": false, ".git/refs/heads/x": true, "node_modules/.bin/x": false,
		".claude/worktrees": false,
	} {
		if v := r.JudgeLink(rel); v.Hold != want || want && v.Root != rel {
			t.Errorf("link %q: %+v, want held: %v", rel, v, want)
		}
	}
	if r.Judge("bin/mise", false).Hold {
		t.Error("a file that is called mise is held")
	}
}

// paths is a tree that has files, and directories that end in a slash.
type paths []string

func (p paths) At(rel string) (Kind, bool) {
	for _, have := range p {
		switch {
		case have == rel:
			return KindFile, true
		case have == rel+"/", strings.HasPrefix(have, rel+"/"):
			return KindDir, true
		}
	}
	return KindFile, false
}

func TestNewRepositoriesAreHeldAsAWhole(t *testing.T) {
	r := builtinRules(t)
	tree := paths{".git/HEAD", ".git/objects/", ".git/refs/", ".git/worktrees/old/HEAD", ".git/modules/a/b/HEAD", ".git/modules/a/logs/y/HEAD", ".git/modules/a/HEAD"}
	for rel, want := range map[string]string{
		"sub/.git":                        "sub/.git",
		"a/b/.git":                        "a/b/.git",
		".claude/worktrees/w/.git":        ".claude/worktrees/w/.git",
		".git/worktrees/new":              ".git/worktrees/new",
		".git/modules/new":                ".git/modules/new",
		".git/modules/a/new":              ".git/modules/a/new",
		".git/worktrees/old/logs":         "",
		".git/modules/a/b/objects/ab":     ".git/modules/a/b",
		".git/modules/a/logs/y/gg":        ".git/modules/a/logs/y",
		".git/modules":                    "",
		".git/worktrees":                  "",
		".git/objects/cc":                 "",
		".git/objects/gg":                 ".git/objects/gg",
		".git/reftable":                   ".git/reftable", // nobody judges the references in it
		".git/logs/refs/heads/hooks":      ".git/logs/refs/heads/hooks",
		"src":                             "",
		".git/modules/a/logs/refs/heads":  "",
		".git/modules/a/logs/y/worktrees": ".git/modules/a/logs/y",
	} {
		if v := r.JudgeIn(tree, rel, KindDir); v.Root != want || v.Hold != (want != "") {
			t.Errorf("directory %q: %+v, want held at %q", rel, v, want)
		}
	}
}

func TestBelow(t *testing.T) {
	r := builtinRules(t).With([]string{"tools/hooks"})
	for rel, want := range map[string]bool{
		".git": true, "sub/.git": true, ".git/modules": true, ".git/modules/x": true, ".claude": true, ".github": true, ".config": true,
		".vscode": true, "tools": true, "tools/hooks": true, "src": false, "docs/api": false, ".git/refs/heads": true, "hooks": false,
		".claude/worktrees": false,
	} {
		if got := r.Below(rel); got != want {
			t.Errorf("Below(%q) = %v", rel, got)
		}
	}
}

func TestWith(t *testing.T) {
	plain := builtinRules(t)
	r := plain.With([]string{"tools/hooks", "./etc/gitconfig.inc", "../outside", "/etc", "..", "", "."})
	for rel, root := range map[string]string{
		"tools/hooks":              "tools/hooks",
		"tools/hooks/pre-commit":   "tools/hooks",
		"Tools/Hooks/lib/x.sh":     "Tools/Hooks",
		"etc/gitconfig.inc":        "etc/gitconfig.inc",
		"tools/hooks/.vscode/a":    "tools/hooks",
		"tools":                    "",
		"tools/hooksx":             "",
		"x/tools/hooks/pre-commit": "",
		"outside":                  "",
		"main.go":                  "",
		"pre-commit":               "pre-commit", // hooks lie in the root
		"x/pre-commit":             "",
	} {
		v := r.Judge(rel, false)
		if got, ok := r.HoldRoot(rel); v.Hold != (root != "") || v.Root != root || got != root || ok != v.Hold {
			t.Errorf("%q: %+v, %q, want %q", rel, v, got, root)
		}
	}
	if !r.Judge("tools/hooks", true).Hold || !r.JudgeLink("tools").Hold {
		t.Error("neither the directory nor a link above it is held")
	}
	if plain.Judge("tools/hooks/pre-commit", false).Hold {
		t.Error("With changed the rules it was asked on")
	}
	if again := r.With([]string{"more"}); !again.Judge("tools/hooks/x", false).Hold || !again.Judge("more/x", false).Hold {
		t.Error("With forgot what was there before")
	}
}

func TestTreesThatAreGitDirectories(t *testing.T) {
	r := builtinRules(t).InGit()
	for rel, root := range map[string]string{
		"config": "config", "hooks/pre-commit": "hooks", "commondir": "commondir", "modules/a/config": "modules/a/config",
		"HEAD": "", "index": "", "refs/heads/config": "refs/heads/config", "refs/heads/main": "", "logs/HEAD": "", "worktrees/w/gitdir": "worktrees/w/gitdir", "info/exclude": "",
	} {
		if got, ok := r.HoldRoot(rel); got != root || ok != (root != "") {
			t.Errorf("HoldRoot(%q) = %q, %v", rel, got, ok)
		}
	}
	if v := r.Judge("refs/replace/1", false); v.Rank != Asked {
		t.Errorf("%+v", v)
	}
	if got := r.Inspect("config", nil, []byte("[core]\nfsmonitor = x\n")); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestInGitDir(t *testing.T) {
	r := builtinRules(t)
	for _, name := range []string{"config", "Config", "hooks", "config.worktree", "commondir", "attributes", "info", "gitdir"} {
		if !r.InGitDir(name) {
			t.Errorf("%q does not matter", name)
		}
	}
	for _, name := range []string{"objects", "index", "main.go", "", "HEAD.md"} {
		if r.InGitDir(name) {
			t.Errorf("%q matters", name)
		}
	}
}

func TestJudgeAllocatesNothing(t *testing.T) {
	r := builtinRules(t).With([]string{"tools/hooks"})
	for _, rel := range []string{"packages/web/src/components/button/index.test.tsx", ".git/objects/ab/0123456789012345678901234567890123456789", ".vscode/tasks.json", "docs/ü/日本.md"} {
		if n := testing.AllocsPerRun(100, func() { r.Judge(rel, false) }); n != 0 {
			t.Errorf("%q: %v allocations", rel, n)
		}
	}
	long := strings.Repeat("ordinary/", 400) + ".vscode/tasks.json"
	if v := r.Judge(long, false); !v.Hold || v.Root != strings.TrimSuffix(long, "/tasks.json") {
		t.Error("a long path is not held")
	}
}

func FuzzJudge(f *testing.F) {
	for rel := range held {
		f.Add(rel, false, "tools/hooks")
	}
	for _, paths := range ranked {
		f.Add(paths[len(paths)/2], true, paths[0])
	}
	f.Add("//.git//hooks/../x", true, "a//b")
	builtin, err := Builtin()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, rel string, dir bool, extra string) {
		r := builtin.With([]string{extra})
		for _, v := range []Verdict{r.Judge(rel, dir), r.JudgeLink(rel)} {
			if v.Hold != (v.Root != "") && rel != "" || v.Hold && v.Rank != Unasked || !within(rel, v.Root) {
				t.Fatalf("%q: %+v", rel, v)
			}
		}
		root, ok := r.HoldRoot(rel)
		file := r.Judge(rel, false)
		if file.Hold != ok || file.Root != root || r.Judge(rel, true).Hold && !ok {
			t.Fatalf("%q: HoldRoot %q, %v; Judge %+v", rel, root, ok, file)
		}
		if file.Hold && !r.JudgeLink(rel).Hold {
			t.Fatalf("%q: a file is held, a link is not", rel)
		}
		if v := r.Judge(rel, true); v.Hold && !r.Judge(rel+"/x", false).Hold {
			t.Fatalf("%q is held, what is below is not", rel)
		}
		if other := r.Judge(strings.ToUpper(rel), dir); isASCII(rel) && r.Judge(rel, dir).Hold && !other.Hold {
			t.Fatalf("%q depends on case", rel)
		}
	})
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 }

// within reports whether root is rel or stands above it.
func within(rel, root string) bool {
	return root == "" || rel == root || strings.HasPrefix(rel, root+"/")
}
