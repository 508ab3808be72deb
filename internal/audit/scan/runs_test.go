package scan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// hook is a tree with one hook, and files beside it.
func hook(t *testing.T, command string, files map[string]string) string {
	t.Helper()
	text, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{".claude/settings.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": ` + string(text) + `}]}]}}`}
	for name, content := range files {
		all[name] = content
	}
	return plant(t, all)
}

// ends reports whether another content of a file ends the trust in the hook.
func ends(t *testing.T, root, file string) bool {
	t.Helper()
	before := hookFile(t, root).Digest
	put(t, root, file, "another content")
	return hookFile(t, root).Digest != before
}

// TestReachOfDirectories: what a program finds in a directory that it is given, or in the
// one where it is started, is trusted with the command that starts it.
func TestReachOfDirectories(t *testing.T) {
	main := map[string]string{"package.json": `{"main": "lib/start"}`, "sub/package.json": `{"main": "./lib/start.js"}`}
	for _, c := range []struct{ command, file string }{
		// The files of a directory that is run.
		{`go run ./sub`, "sub/main.go"}, {`go run .`, "main.go"}, {`cd sub && go run .`, "sub/main.go"}, {`go run -race ./sub -v`, "sub/other.go"}, {`go run ./sub`, "go.mod"},
		{`go generate`, "gen.go"}, {`go generate ./...`, "deep/er/gen.go"}, {`go test ./sub`, "sub/a_test.go"}, {`go run "$CLAUDE_PROJECT_DIR/sub"`, "sub/main.go"},
		{`node .`, "lib/start.js"}, {`node .`, "package.json"}, {`node sub`, "sub/lib/start.js"}, {`node ./sub/`, "sub/index.js"}, {`cd sub && node .`, "sub/lib/start.js"},
		{`bun run sub`, "sub/lib/start.js"}, {`bun run "$F"`, "anything"}, {`deno run sub`, "sub/main.ts"}, {`tsx .`, "index.ts"}, {`python3 sub`, "sub/helper.py"}, {`ruby -Isub -rhook x`, "sub/hook.rb"},
		{`some-runner sub`, "sub/task"}, {`npx some-runner sub`, "sub/task.js"}, {`uv run --with prettier node sub`, "sub/lib/start.js"}, {`uv run --with x sh "$1"`, "anything"},
		{`pip install -e .`, "setup.py"}, {`npm install ./sub`, "sub/package.json"}, {`node "$X/sub"`, "a/sub/index.js"}, {`java -cp sub Main`, "sub/Main.class"},
		// What a program reads by itself.
		{`uv run tool`, "pyproject.toml"}, {`uv run tool`, "uv.lock"}, {`poetry run tool`, "pyproject.toml"}, {`pipenv run tool`, "Pipfile"}, {`uv run tool`, ".venv/bin/tool"},
		{`./gradlew check`, "build.gradle.kts"}, {`./gradlew check`, "gradle/wrapper/gradle-wrapper.properties"}, {`sub/gradlew check`, "sub/settings.gradle"}, {`./mvnw -q test`, ".mvn/jvm.config"},
		{`mvn test`, "pom.xml"}, {`npx eslint .`, "eslint.config.mjs"}, {`npx eslint .`, ".eslintrc.cjs"}, {`eslint .`, ".eslintrc"}, {`npx prettier --check .`, "prettier.config.js"},
		{`npx prettier --check .`, ".prettierrc.mjs"}, {`pnpm exec jest`, "jest.config.ts"}, {`yarn vite build`, "vite.config.ts"}, {`npx vitest run`, "vite.config.mts"}, {`bunx webpack`, "webpack.config.js"},
		{`npx eslint .`, "node_modules/.bin/eslint"}, {`npx eslint .`, "package.json"}, {`npx -y @scope/thing`, "thing.config.js"}, {`npx --yes thing@1.2.3`, ".thingrc.js"},
		{`go vet ./...`, "go.mod"}, {`mypy .`, "mypy.ini"}, {`pylint src`, ".pylintrc"}, {`flake8`, ".flake8"}, {`tox -q`, "pyproject.toml"}, {`rubocop`, ".rubocop.yml"},
		{`bundle exec rspec`, "Gemfile"}, {`cargo test`, ".cargo/config.toml"}, {`cmake --build .`, "CMakeLists.txt"}, {`bazel build //...`, ".bazelrc"}, {`mix test`, "mix.exs"}, {`gulp`, "gulpfile.js"},
		{`grunt x`, "Gruntfile.js"}, {`nix develop`, "flake.nix"}, {`sbt test`, "project/build.properties"}, {`docker build .`, "Dockerfile"}, {`podman compose up`, "compose.yaml"}, {`just fmt`, "Justfile"},
	} {
		files := map[string]string{c.file: "one", "sub/package.json": main["sub/package.json"], "package.json": main["package.json"]}
		if root := hook(t, c.command, files); !ends(t, root, c.file) {
			t.Errorf("%s: %s is in no digest", c.command, c.file)
		}
	}
}

// TestReachIsNoData: what a program is given to look at is not what it runs, or nobody
// could work in a tree with a hook.
func TestReachIsNoData(t *testing.T) {
	for _, c := range []struct{ command, file string }{
		{`npx prettier --check .`, "src/a.js"}, {`npx prettier --check src`, "src/a.js"}, {`npx eslint .`, "index.js"}, {`ruff check .`, "a.py"}, {`git add .`, "a.go"}, {`mkdir -p logs`, "logs/x"},
		{`uv run ruff check .`, "a.py"}, {`go vet ./...`, "a.go"}, {`go build ./...`, "a.go"}, {`gofmt -l .`, "a.go"}, {`rm -rf build`, "build/x.js"}, {`some-runner sub`, "sub/README.md"},
		{`go test ./...`, "a/b.go"}, {`node sub`, "other/x.js"}, {`ls -R .`, "a.sh"},
	} {
		if root := hook(t, c.command, map[string]string{c.file: "one"}); ends(t, root, c.file) {
			t.Errorf("%s: a change of %s ends the trust", c.command, c.file)
		}
	}
}

// TestReachTooMuch: a directory with more files than are looked at cannot be trusted.
func TestReachTooMuch(t *testing.T) {
	root := hook(t, `some-runner many`, nil)
	dir := filepath.Join(root, "many")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range starredNames + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range look(t, root).Files {
		if f.Path == ".claude/settings.json" && f.Digest != "" {
			t.Errorf("it can be trusted with %d files", len(f.With))
		}
	}
}

// TestPutTogetherTexts: what names a file only with the value of a variable cannot be
// trusted, and a variable elsewhere is no reason.
func TestPutTogetherTexts(t *testing.T) {
	for value, trusted := range map[string]bool{"{fi{env:NOTHING}le:./x.txt}": false, "{{env:NOTHING}file:./x.txt}": false, "{file{env:N}:x.txt}": false,
		"{file:./{env:NOTHING}x.txt}": false, "{file:{env:DIR}/x.txt}": false, "{env:KEY}": true, "x {env:KEY} {file:x.txt}": true} {
		settings := `{"mcp": {"a": {"type": "local", "command": ["sh", "-c", "` + value + `"]}}}`
		r := look(t, plant(t, map[string]string{"opencode.json": settings, "x.txt": "one"}))
		if len(r.Files) != 1 || (r.Files[0].Digest != "") != trusted {
			t.Errorf("%s: %+v", value, r.Files)
		}
	}
}

// TestReachOfTexts: a file that opencode puts into its settings is part of them.
func TestReachOfTexts(t *testing.T) {
	for file, settings := range map[string]string{
		"opencode.json":            `{"mcp": {"a": {"type": "local", "command": ["sh", "-c", "{file:./x.txt}"]}}}`,
		".opencode/opencode.jsonc": `{"agent": {"a": {"prompt": "{file:../x.txt}", "permission": "{file:x.txt}"}}}`,
		"sub/opencode.json":        `{"model": "{file:../x.txt}"}`,
		".opencode/opencode.json":  `{"agent": {"a": {"prompt": "{file:../x.txt}"}}}`,
		"opencode.jsonc":           `{"provider": {"a": {"name": "{file:x.txt}", "options": {"headers": {"a": "{file:x.txt}"}}}}}`,
	} {
		root := plant(t, map[string]string{file: settings, "x.txt": "one"})
		digest := func() string {
			r, err := Scan(root, Launch("sub", nil))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Files {
				if f.Path == file {
					return f.Digest
				}
			}
			return ""
		}
		before := digest()
		if put(t, root, "x.txt", "another"); before == "" || digest() == before {
			t.Errorf("%s: the text that it puts in changed, and the digest did not: %q", file, before)
		}
	}
}
