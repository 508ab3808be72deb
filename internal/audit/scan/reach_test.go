package scan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hooked is a tree with a hook of Claude Code's, and files that it may use.
func hooked(t *testing.T, command string) string {
	t.Helper()
	text, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	return plant(t, map[string]string{
		".claude/settings.json": `{"hooks": {"Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": ` + string(text) + `}]}]}}`,
		"x.sh":                  "1", "d/x.sh": "2", "d/e/x.sh": "3", "a b.sh": "4", "tool/run.py": "5", "tool/__main__.py": "6", "hooks/one.sh": "7", "hooks/two.sh": "8", "src/main.ts": "9",
		"node_modules/m/x.sh": "10",
	})
}

const everyFile = "(all)"

// TestReach: a script that a hook runs is trusted with it, however the shell comes to
// its name. Each row was tried with sh.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		command string
		with    string // sorted, joined by ","
	}{
		{`sh x.sh`, "x.sh"},
		{`"$CLAUDE_PROJECT_DIR"/x.sh`, "x.sh"},
		{`"${CLAUDE_PROJECT_DIR}/x.sh" --now`, "x.sh"},
		{`'x'.s"h"`, "x.sh"},
		{`./d/../x.sh`, "x.sh"},
		{`"./a b.sh"`, "a b.sh"},
		{`./a\ b.sh`, "a b.sh"},
		{`$'\x78.sh'`, "x.sh"},
		{`$(git rev-parse --show-toplevel)/x.sh`, "x.sh"},
		{"`git rev-parse --show-toplevel`/d/x.sh", "d/x.sh"},
		{`cd d && ./x.sh`, "d/x.sh,x.sh"},
		{`cd d; cd e; sh x.sh`, "d/e/x.sh,d/x.sh,x.sh"},
		{`(cd "$CLAUDE_PROJECT_DIR/d" && exec ./x.sh)`, "d/x.sh,x.sh"},
		{`cd "$(dirname "$0")" && ./x.sh`, "d/e/x.sh,d/x.sh,node_modules/m/x.sh,x.sh"},
		{`"$SOMEWHERE/x.sh"`, "d/e/x.sh,d/x.sh,node_modules/m/x.sh,x.sh"},
		{`F=d/x.sh; sh "$F"`, "d/x.sh"},
		{`R=$(git rev-parse --show-toplevel); bash -eu "$R/d/x.sh"`, "d/x.sh"},
		{`bash -c 'cd d && ./x.sh'`, "d/x.sh,x.sh"},
		{`bash -lc "sh ./d/x.sh"`, "d/x.sh"},
		{`eval "sh d/x.sh"`, "d/x.sh"},
		{`if true; then for i in 1 2; do timeout 5 env A=1 d/x.sh & done; fi`, "d/x.sh"},
		{`cat d/x.sh | sh`, everyFile},
		{`sh < d/x.sh`, "d/x.sh"},
		{`python3 tool`, "tool/__main__.py,tool/run.py"},
		{`python3 -m tool.run`, "tool/run.py"},
		{`node tool/run.py "$FILE"`, "tool/run.py"},
		{`for f in hooks/*.sh; do sh "$f"; done`, "hooks/one.sh,hooks/two.sh"},
		{`run-parts hooks`, "hooks/one.sh,hooks/two.sh"},
		{`npx prettier --write "$FILE"`, ""},
		{`npx eslint 'src/**/*.ts'`, ""},
		{`jq -r .tool_input.file_path | { read -r f; echo "$f"; }`, ""},
		{`sh "$1"`, everyFile},
		{`$CMD`, everyFile},
		{`read F; sh "$F"`, everyFile},
		{`find . -type f -exec sh {} \;`, everyFile},
		{`ls hooks | xargs -n1 sh`, everyFile},
		{`CLAUDE_PROJECT_DIR=d; "$CLAUDE_PROJECT_DIR"/x.sh`, everyFile},
		{`echo "never closed`, everyFile},
	} {
		t.Run(c.command, func(t *testing.T) {
			root := hooked(t, c.command)
			f := hookFile(t, root)
			got := f.With
			if f.WithAll {
				got = []string{everyFile}
			}
			if strings.Join(got, ",") != c.with {
				t.Errorf("trusted with it are %q, all %v; want %q", f.With, f.WithAll, c.with)
			}
			for _, rel := range f.With {
				changes(t, root, f.Digest, rel)
			}
			if f.WithAll {
				changes(t, root, f.Digest, "src/main.ts")
			}
		})
	}
}

func hookFile(t *testing.T, root string) File {
	t.Helper()
	r := look(t, root)
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == ".claude/settings.json" })
	if i < 0 || r.Files[i].Digest == "" {
		t.Fatalf("the hook is not found, or cannot be trusted: %q", said(r))
	}
	return r.Files[i]
}

// changes: another content of a file is another digest.
func changes(t *testing.T, root, digest, rel string) {
	t.Helper()
	put(t, root, rel, "another content")
	if hookFile(t, root).Digest == digest {
		t.Errorf("%q changed, and the digest did not", rel)
	}
}

// TestReachNew: a script that was not there is another matter.
func TestReachNew(t *testing.T) {
	root := hooked(t, `cd sub && ./x.sh`)
	f := hookFile(t, root)
	changes(t, root, f.Digest, "sub/x.sh")
}

// TestReachStart: names are meant from where the agent starts, too.
func TestReachStart(t *testing.T) {
	root := hooked(t, `./x.sh`)
	r, err := Scan(root, Launch("d/e", nil))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == ".claude/settings.json" })
	if want := []string{"d/e/x.sh", "d/x.sh", "x.sh"}; i < 0 || !slices.Equal(r.Files[i].With, want) {
		t.Errorf("%+v, want with %q", r.Files, want)
	}
}

// TestReachServers: no shell reads the command of a server, but the agent puts
// variables in.
func TestReachServers(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"command": "sh", "args": ["x.sh"]}}}`:                         "x.sh",
		`{"mcpServers": {"a": {"command": "${CLAUDE_PROJECT_DIR}/d/x.sh", "args": ["-v"]}}}`: "d/x.sh",
		`{"mcpServers": {"a": {"command": "sh", "args": ["x.sh"], "cwd": "d"}}}`:             "d/x.sh,x.sh",
		`{"mcpServers": {"a": {"command": "sh", "args": ["-c", "cd d && ./x.sh"]}}}`:         "d/x.sh,x.sh",
		`{"mcpServers": {"a": {"command": "sh", "args": ["-c", "./a' 'b.sh"]}}}`:             "a b.sh",
		`{"mcpServers": {"a": {"command": "./a b.sh", "args": ["x"]}}}`:                      "a b.sh",
		`{"mcpServers": {"a": {"command": "node", "args": ["${X}/x.sh"]}}}`:                  "d/e/x.sh,d/x.sh,node_modules/m/x.sh,x.sh",
		`{"mcpServers": {"a": {"command": "true", "env": {"BASH_ENV": "d/x.sh"}}}}`:          "d/x.sh",
		`{"mcpServers": {"a": {"url": "https://example.test/x"}}}`:                           "",
	} {
		root := hooked(t, "true")
		put(t, root, ".mcp.json", text)
		r := look(t, root)
		i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == ".mcp.json" })
		if i < 0 || strings.Join(r.Files[i].With, ",") != want || r.Files[i].WithAll {
			t.Errorf("%s: %+v, want with %q", text, r.Files, want)
		}
	}
}

// TestReachPlugin: every file of a plugin is trusted with its manifest.
func TestReachPlugin(t *testing.T) {
	const at = ".claude/skills/x/"
	root := plant(t, map[string]string{at + ".claude-plugin/plugin.json": `{"name": "x"}`, at + "bin/tool": "1", at + "deep/er/lib.js": "2", "elsewhere": "3"})
	manifest := func() string {
		for _, f := range look(t, root).Files {
			if f.Path == at+".claude-plugin/plugin.json" {
				return f.Digest
			}
		}
		return ""
	}
	for _, rel := range []string{"bin/tool", "deep/er/lib.js", "new/file"} {
		before := manifest()
		if put(t, root, at+rel, "another"); before == "" || manifest() == before {
			t.Errorf("%q changed, and the digest did not: %q", rel, before)
		}
	}
	before := manifest()
	if put(t, root, "elsewhere", "another"); manifest() != before {
		t.Error("a file elsewhere is part of the plugin")
	}
}

// TestReachAway: a script that is a link out of the tree is known by where it leads.
func TestReachAway(t *testing.T) {
	root := hooked(t, `sh ./out.sh`)
	if err := os.Symlink("/bin/true", filepath.Join(root, "out.sh")); err != nil {
		t.Fatal(err)
	}
	f := hookFile(t, root)
	if err := os.Remove(filepath.Join(root, "out.sh")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/false", filepath.Join(root, "out.sh")); err != nil {
		t.Fatal(err)
	}
	if hookFile(t, root).Digest == f.Digest {
		t.Error("the link leads elsewhere, and the digest is the same")
	}
}

// TestReachOfPrograms: a file that a command runs without spelling its name out is
// trusted with it.
func TestReachOfPrograms(t *testing.T) {
	for _, c := range []struct{ command, file string }{
		{`bash < "$S"`, "d/x.sh"}, {`bash < "$CLAUDE_PROJECT_DIR/d/$S.sh"`, "d/x.sh"}, {`cat "$S" | python3`, "x.py"}, {`cat "$S" | python3 -`, "x.py"}, {`python3 < "$S"`, "x.py"},
		{`PATH="$CLAUDE_PROJECT_DIR/bin:$PATH" lint`, "bin/lint"}, {`export PATH=$PWD/bin:$PATH; lint --fix`, "bin/lint"}, {`PATH=bin:$PATH && lint`, "bin/lint"},
		{`env PATH=bin:/usr/bin lint`, "bin/lint"}, {`cd d && NODE_OPTIONS="--require ./x.js" node -v`, "d/x.js"}, {`node -e 'require("./d/x")'`, "d/x.js"},
		{`python3 -c 'import hook'`, "hook.py"}, {`python3 -c 'import d.hook'`, "d/hook.py"}, {`node -r./d/x.js -e 0`, "d/x.js"}, {`python3 -mhook`, "hook.py"},
		{`make -s lint`, "Makefile"}, {`make -C d lint`, "d/Makefile"}, {`just fmt`, "justfile"}, {`npm run lint`, "package.json"}, {`cd d && npm test`, "d/package.json"},
		{`pnpm lint`, "package.json"}, {`docker compose run x`, "compose.yml"},
	} {
		text, err := json.Marshal(c.command)
		if err != nil {
			t.Fatal(err)
		}
		root := plant(t, map[string]string{".claude/settings.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": ` + string(text) + `}]}]}}`, c.file: "one"})
		before := look(t, root).Files[0].Digest
		if err := os.WriteFile(filepath.Join(root, c.file), []byte("another"), 0o644); err != nil {
			t.Fatal(err)
		}
		if after := look(t, root).Files[0].Digest; before == "" || before == after {
			t.Errorf("%s: %s is in no digest", c.command, c.file)
		}
	}
}
