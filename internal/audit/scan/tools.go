package scan

import (
	"path"
	"slices"
	"strings"
)

// readers are programs that run what stands in a file of a name of their own. A name that
// ends in / is a directory: the files in it.
type readers map[string][]string

var (
	composes  = []string{"compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml", "Dockerfile", "docker-bake.hcl"}
	makefiles = []string{"Makefile", "makefile", "GNUmakefile"}
	gradles   = []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties", "gradle/wrapper/", "gradle/"}
	mavens    = []string{"pom.xml", ".mvn/", ".mvn/wrapper/"}
	pythons   = []string{"pyproject.toml", "setup.py", "setup.cfg"}
)

var read = readers{
	"make": makefiles, "gmake": makefiles, "just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"}, "rake": {"Rakefile"},
	"npm": {"package.json", ".npmrc"}, "npx": {"package.json", ".npmrc"}, "pnpm": {"package.json", ".pnpmfile.cjs", "pnpm-workspace.yaml"},
	"yarn": {"package.json", ".yarnrc.yml", ".yarnrc"}, "bun": {"package.json", "bunfig.toml"}, "bunx": {"package.json", "bunfig.toml"},
	"deno": {"deno.json", "deno.jsonc"}, "composer": {"composer.json"}, "cargo": {"Cargo.toml", "build.rs", ".cargo/", "rust-toolchain", "rust-toolchain.toml"},
	"go": {"go.mod", "go.work"}, "pre-commit": {".pre-commit-config.yaml"}, "lefthook": {"lefthook.yml", "lefthook.yaml", ".lefthook.yml"},
	"docker": composes, "docker-compose": composes, "podman": composes, "podman-compose": composes,
	"gradle": gradles, "gradlew": gradles, "mvn": mavens, "mvnw": mavens, "ant": {"build.xml"}, "sbt": {"build.sbt", "project/"}, "mill": {"build.sc", "build.mill"}, "lein": {"project.clj"},
	"uv": append([]string{"uv.toml", "uv.lock", ".python-version"}, pythons...), "poetry": append([]string{"poetry.toml", "poetry.lock"}, pythons...), "pipenv": {"Pipfile", "Pipfile.lock"},
	"pdm": pythons, "hatch": append([]string{"hatch.toml"}, pythons...), "rye": pythons, "pip": pythons, "tox": append([]string{"tox.ini"}, pythons...), "nox": {"noxfile.py"},
	"pytest": append([]string{"conftest.py", "pytest.ini", ".pytest.ini", "tox.ini"}, pythons...), "mypy": append([]string{"mypy.ini", ".mypy.ini"}, pythons...),
	"pylint": append([]string{"pylintrc", ".pylintrc"}, pythons...), "flake8": {".flake8", "setup.cfg", "tox.ini"}, "invoke": {"tasks.py"}, "inv": {"tasks.py"}, "fab": {"fabfile.py"}, "doit": {"dodo.py"},
	"scons": {"SConstruct"}, "alembic": {"alembic.ini", "alembic/"}, "bundle": {"Gemfile", "Gemfile.lock", ".bundle/"}, "rspec": {".rspec", "spec/spec_helper.rb"},
	"rubocop": {".rubocop.yml"}, "mix": {"mix.exs", "config/"}, "rebar3": {"rebar.config", "rebar.config.script"}, "cmake": {"CMakeLists.txt", "CMakePresets.json"}, "ctest": {"CTestTestfile.cmake"},
	"meson": {"meson.build"}, "ninja": {"build.ninja"}, "bazel": {"MODULE.bazel", "WORKSPACE", "BUILD", "BUILD.bazel", ".bazelrc", "tools/bazel"}, "stack": {"stack.yaml", "package.yaml", "Setup.hs"},
	"nix": {"flake.nix", "flake.lock", "shell.nix", "default.nix"}, "nix-shell": {"shell.nix", "default.nix"}, "zig": {"build.zig"}, "swift": {"Package.swift"}, "phpunit": {"phpunit.xml", "phpunit.xml.dist"},
	"dotnet": {"Directory.Build.props", "Directory.Build.targets", "global.json", "nuget.config"}, "terraform": {"./"}, "vagrant": {"Vagrantfile"}, "ansible-playbook": {"ansible.cfg"}, "earthly": {"Earthfile"},
	"gulp": {"gulpfile.js", "gulpfile.mjs", "gulpfile.cjs", "gulpfile.ts"}, "grunt": {"Gruntfile.js", "Gruntfile.cjs", "Gruntfile.ts"}, "vitest": configsOf("vite"), "next": {"middleware.ts"}, "nx": {"project.json"},
	"direnv": {".envrc"}, "mise": {"mise.toml", ".mise.toml", "mise.local.toml", ".tool-versions"}, "lint-staged": {"package.json"}, "husky": {".husky/"},
}

// configsOf lists the names that tools give to their settings. Many of these are programs.
func configsOf(tool string) (out []string) {
	for _, ext := range []string{"js", "cjs", "mjs", "ts", "cts", "mts", "json", "jsonc", "yaml", "yml", "toml"} {
		out = append(out, tool+".config."+ext, "."+tool+"rc."+ext, tool+"."+ext, "."+tool+"."+ext)
	}
	return append(out, "."+tool+"rc", tool+".ini", "."+tool+".ini")
}

// installed is where tools are that a project has for itself.
var installed = []string{"node_modules/.bin/", ".venv/bin/", "venv/bin/", "vendor/bin/"}

// programOf is the name of a program, as npx takes it too: @scope/name@1.2.3.
func programOf(word string) string {
	base := path.Base(word)
	if i := strings.LastIndexByte(base, '@'); i > 0 {
		base = base[:i]
	}
	return base
}

// reads adds what a command of this program reads by itself, from where it is started and
// from where the program is: ./sub/gradlew goes there.
func (u *usage) reads(word, program string, args []string) {
	if program == "go" {
		u.goes(args)
	}
	if strings.ContainsAny(program, any1+here1) || slices.Contains(shellsOwn, program) || u.known[word] {
		return
	}
	if len(u.known) >= maxPrograms {
		u.unnamed = true
		return
	}
	if u.known == nil {
		u.known = map[string]bool{}
	}
	u.known[word] = true
	files := read[program]
	if !strings.Contains(program, ".") && !slices.Contains(interpreters, program) { // no script of the project's own
		files = append(configsOf(program), files...)
	}
	if u.wrapped && !strings.Contains(word, "/") || strings.HasPrefix(word, "@") {
		for _, dir := range installed {
			files = append(files, dir+program)
		}
	}
	for _, f := range files {
		name := used{name: strings.TrimSuffix(f, "/"), runs: true, dir: strings.HasSuffix(f, "/")}
		u.names = append(u.names, name)
		if dir := path.Dir(word); dir != "." && word[0] != '@' && slices.Contains([]string{"gradlew", "mvnw"}, program) {
			name.name = dir + "/" + name.name
			u.names = append(u.names, name)
		}
	}
}

// maxPrograms bounds how many programs of one file are looked up. With more, any file may
// be what they read.
const maxPrograms = 256

// shellsOwn are words that no file decides.
var shellsOwn = []string{"cd", "echo", "test", "[", "[[", "true", "false", ":", "exit", "return", "set", "shift", "cat", "ls", "rm", "cp", "mv", "mkdir", "grep", "sed", "awk", "jq", "head", "tail", "git", "export", "read", "printf"}

// goes is for Go's own command: without a name, the directory where it is started.
func (u *usage) goes(args []string) {
	if len(args) == 0 || !slices.Contains([]string{"run", "generate", "test"}, args[0]) {
		return
	}
	u.names = append(u.names, used{name: ".", dir: true})
	if args[0] != "test" && slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "...") }) {
		u.unnamed = true // every package of a tree
	}
}

// lookers are programs that read what they are given, or check it, and run none of it.
var lookers = []string{"git", "ls", "cat", "mkdir", "rmdir", "rm", "cp", "mv", "ln", "touch", "chmod", "chown", "echo", "printf", "test", "[", "[[", "grep", "egrep", "rg", "ag", "tree", "du", "stat", "wc", "head", "tail", "sort",
	"diff", "tar", "zip", "unzip", "rsync", "basename", "dirname", "realpath", "readlink", "open", "xdg-open", "code", "cursor", "jq", "yq", "prettier", "eslint", "stylelint", "biome", "oxlint", "tsc", "ruff", "black", "isort",
	"mypy", "pyright", "flake8", "pylint", "bandit", "gofmt", "goimports", "gofumpt", "golangci-lint", "staticcheck", "shellcheck", "shfmt", "rubocop", "standardrb", "clang-format", "rustfmt", "ktlint", "swiftformat",
	"jest", "vitest", "mocha", "pytest", "rspec", "phpunit", "server-filesystem", "mcp-server-git", "server-git", "markdownlint", "cspell", "gitleaks", "semgrep", "trivy", "cloc", "tokei"}

// looksInto reports whether a program may run what it finds in a directory that it is
// given. That of a wrapper is for the program that it runs.
func (u *usage) looksInto(program string, names []string) bool {
	switch {
	case slices.Contains(lookers, program):
		return false
	case program == "go":
		return len(names) == 0 || !slices.Contains([]string{"vet", "build", "fmt", "list", "mod", "env", "version", "install", "doc"}, names[0])
	case !slices.Contains(wrappers, program) || slices.Contains(interpreters, program):
		return true
	}
	first := slices.IndexFunc(names, func(n string) bool {
		return !slices.Contains([]string{"-y", "--yes", "-q", "--quiet", "--no-install", "run", "exec", "x", "dlx", "--"}, n)
	})
	return first >= 0 && strings.HasPrefix(names[first], "-") // its value may be in the program's place
}
