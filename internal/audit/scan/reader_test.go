package scan

import (
	"strings"
	"testing"
)

// TestOneReading: text that another reader takes apart in another way is never passed
// on as it is, whatever we read in it.
func TestOneReading(t *testing.T) {
	const server = `"mcp": {"evil": {"type": "local", "command": ["EVIL"], "enabled": true}}`
	for name, text := range map[string]string{
		"a comment that \\r ends":     "{ // x\r " + server + "\n}",
		"a comment that U+2028 ends":  "{ // x\u2028 " + server + "\n}",
		"a comment that U+0085 ends":  "{ // x\u0085 " + server + "\n}",
		"a comment that \\v ends":     "{ // x\v " + server + "\n}",
		"a zero byte in a comment":    "{ // x\x00 " + server + "\n}",
		"a mark within":               "{ // x\n \ufeff" + server + "\n}",
		"two marks":                   "\ufeff\ufeff{" + server + "}",
		"bytes that are no UTF-8":     "{ // \xff\n" + server + "}",
		"UTF-16":                      "\xff\xfe{\x00}\x00",
		"a name twice":                `{"theme": "a", "theme": {"x": "EVIL"}}`,
		"a name twice below":          `{"agent": {"a": {"prompt": "a", "prompt": "EVIL"}}}`,
		"a name with a zero":          `{"theme\u0000": "EVIL"}`,
		"a name of the language":      `{"__proto__": {"mcp": "EVIL"}}`,
		"a name that is put together": `{"m{env:NOTHING}cp": {"evil": {"type": "local", "command": ["EVIL"]}}}`,
		"a variable in a value":       `{"theme": "EVIL{env:X}"}`,
		"a variable with an escape":   `{"theme": "EVIL\u007benv:X}"}`,
		"a variable in a comment":     "{\n// EVIL{env:X}\n\"theme\": \"x\"}",
		"a file in a value":           `{"agent": {"a": {"prompt": "{file:/etc/passwd} EVIL"}}}`,
		"a file in a comment":         "{ /* EVIL {file:x} */ \"theme\": \"x\"}",
		"half a surrogate":            `{"theme": "EVIL", "\ud800": 1}`,
		"nested without end":          `{"EVIL": ` + strings.Repeat("[", 100_000),
		"a comment without an end":    "{}/* " + server,
		"a second value":              "{}{" + server + "}",
	} {
		for _, file := range []string{"opencode.json", ".opencode/opencode.jsonc"} {
			root := plant(t, map[string]string{file: text})
			r := look(t, root)
			if !dangerous(r) || len(r.Files) != 1 || !r.Files[0].Mended {
				t.Errorf("%s: %s is passed on: %q", name, file, said(r))
			} else if got := shows(t, root, r); len(got) > 0 {
				t.Errorf("%s: it is still there: %s", name, r.Files[0].Neutral)
			}
		}
	}
	for _, file := range []string{".claude/settings.json", ".mcp.json", ".gemini/settings.json", ".cursor/hooks.json", ".vscode/mcp.json"} {
		if r := look(t, plant(t, map[string]string{file: "{ // x\r \"theme\": \"x\"\n}"})); !dangerous(r) || !r.Files[0].Mended {
			t.Errorf("%s: a line that \\r ends is passed on", file)
		}
	}
	for _, file := range []string{".vscode/tasks.json", ".vscode/settings.json", "x.code-workspace", ".devcontainer.json"} {
		for _, text := range []string{"{ // x\r \"tasks\": []\n}", `{"a": 1 "b": 2}`} {
			if r := look(t, plant(t, map[string]string{file: text})); !dangerous(r) {
				t.Errorf("%s: editors read on in %q, and nothing is said", file, text)
			}
		}
	}
	for name, text := range map[string]string{"\\r": "# x\rnotify = [\"EVIL\"]\n", "a zero": "model = \"a\" # \x00EVIL\n", "no UTF-8": "model = \"\xffEVIL\"\n", "a mark": "\ufeffmodel = \"EVIL\"\n"} {
		root := plant(t, map[string]string{".codex/config.toml": text})
		if r := look(t, root); !dangerous(r) || len(shows(t, root, r)) > 0 {
			t.Errorf("TOML with %s is passed on", name)
		}
	}
}

// TestProgramsOfEditors: the name of a setting counts for what is in it, also where names
// have dots; the oracle of settings found these.
func TestProgramsOfEditors(t *testing.T) {
	for _, text := range []string{`{"go.alternateTools": {"go": "./x"}}`, `{"[go]": {"go.alternateTools": {"go": "${workspaceFolder}/x"}}}`,
		`{"rust-analyzer.check.overrideCommand": ["./x"]}`, `{"mcp.servers": {"a.b": {"command": "x"}}}`, `{"mcp": {"servers": {"a.b": {"command": "x"}}}}`,
		`{"python.defaultInterpreterPath": "./x/"}`} {
		if r := look(t, plant(t, map[string]string{".vscode/settings.json": text})); len(r.Findings) == 0 {
			t.Errorf("nothing is said of %s", text)
		}
	}
	for _, text := range []string{`{"python.analysis.extraPaths": ["./src"]}`, `{"typescript.tsdk": "./node_modules/typescript/lib"}`, `{"files.exclude": {"./x": true}}`} {
		if r := look(t, plant(t, map[string]string{".vscode/settings.json": text})); len(r.Findings) > 0 {
			t.Errorf("of %s it says %q", text, said(r))
		}
	}
}

// TestShownBeforeTrust: what is trusted although it is not understood was shown.
func TestShownBeforeTrust(t *testing.T) {
	r := look(t, plant(t, map[string]string{"opencode.json": "{ // x\r \"mcp\": {\"evil\": {\"command\": [\"EVIL\"]}}\n}"}))
	if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Full, "EVIL") {
		t.Errorf("%+v", r.Findings)
	}
}
