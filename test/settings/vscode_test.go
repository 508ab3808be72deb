package settings

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

const vscodeFile = ".vscode/settings.json"

// vscode obeys its files where the folder is opened, on the host: nothing stands for
// them inside, and a person has to be told.
var vscode = receiver{
	name: "vscode", file: vscodeFile, seeds: 300, open: openVSCode, told: true,
	generate: jsonFile{
		harmless: []string{`"editor.tabSize": 2`, `"files.eol": "x"`, `"editor.formatOnSave": true`, `"search.exclude": {"x": true}`},
		hostile: []string{`"python.defaultInterpreterPath": "./EVIL"`, `"git.path": "./EVIL"`, `"mcp.servers": {"EVIL": {"command": "EVIL"}}`, `"mcp": {"servers": {"EVIL": {"command": "EVIL"}}}`,
			`"terminal.integrated.env.linux": {"LD_PRELOAD": "EVIL"}`, `"[go]": {"go.alternateTools": {"go": "${workspaceFolder}/EVIL"}}`, `"rust-analyzer.server.path": "../EVIL"`},
		texts: []string{"x", "${workspaceFolder}", "./"},
	}.generate,
	known: hiddenJSON(`"mcp": {"servers": {"EVIL": {"command": "EVIL"}}}`, `"files.eol"`),
	naive: naiveJSON,
}

// obeyed are the names that VS Code knows, with values that lead into the folder: what
// the generator has broken is obeyed by nobody.
var obeyed = regexp.MustCompile(`^(python\.defaultInterpreterPath|git\.path|rust-analyzer\.server\.path|(\[go\]\.)?go\.alternateTools\.go) = (\./|\.\./|\$\{workspaceFolder\})|` +
	`^mcp\.servers\.|^terminal\.integrated\.env\.linux\.LD_PRELOAD = `)

// jsonc is VS Code's own reader, which it publishes as a package. It goes on behind an
// error and takes what it understands, as VS Code does with its settings.
const jsonc = `
const { parse } = require(process.argv[1]);
const { readFileSync } = require("node:fs");
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const bytes = readFileSync(line);
  const wide = bytes[0] === 0xff && bytes[1] === 0xfe;
  const text = bytes.toString(wide ? "utf16le" : "utf8").replace(/^\uFEFF/, "");
  const seen = parse(text, [], { allowTrailingComma: true, allowEmptyContent: true });
  process.stdout.write(JSON.stringify({ seen }) + "\n");
});`

func openVSCode(t *testing.T) func(*testing.T, string) []string {
	p := start(t, nil, "node", "-e", jsonc, filepath.Join(modules(t), "jsonc-parser"))
	return func(t *testing.T, project string) []string {
		p.say(t, filepath.Join(project, vscodeFile))
		tree, _ := decode(t, p.hear(t))["seen"].(map[string]any) // a list is no settings
		return slices.DeleteFunc(marked(tree), func(seen string) bool { return !obeyed.MatchString(seen) })
	}
}
