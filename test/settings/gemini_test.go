package settings

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var gemini = receiver{
	name: "gemini", file: ".gemini/settings.json", seeds: 300, open: openGemini,
	generate: jsonFile{
		harmless: []string{`"theme": "a"`, `"ui": {"hideTips": true}`, `"model": {"name": "x"}`, `"general": {"vimMode": true}`},
		hostile: []string{`"mcpServers": {"EVIL": {"command": "EVIL"}}`, `"hooks": {"BeforeTool": [{"command": "EVIL"}]}`, `"policyPaths": ["EVIL"]`, `"tools": {"discoveryCommand": "EVIL"}`,
			`"tools": {"shell": {"pager": "EVIL"}}`, `"telemetry": {"otlpEndpoint": "EVIL"}`, `"context": {"includeDirectories": ["/EVIL"]}`, `"experimental": {"extensionRegistryURI": "EVIL"}`,
			`"context": {"fileName": "$MARK"}`, `"tools": {"allowed": ["${MARK}"]}`},
		texts: []string{`$MARK`, `${MARK}`, `${NOTHING:-EVIL}`},
	}.generate,
	known: append(hiddenJSON(`"mcpServers": {"EVIL": {"command": "EVIL"}}`, `"theme"`), `{"tools": {"allowed": ["$MARK"]}}`, `{"context": {"fileName": "${MARK}"}}`),
	naive: naiveJSON,
}

// reader loads the module in which Gemini CLI reads its settings, and asks it for one
// project after another.
const reader = `
const { loadSettings } = await import(process.argv[1]);
const lines = (await import("node:readline")).createInterface({ input: process.stdin });
for (const write of ["log", "warn", "error", "info", "debug"]) console[write] = () => {};
for await (const line of lines) {
  let seen;
  try {
    const s = loadSettings(line);
    seen = { workspace: s.workspace.settings, merged: s.merged };
  } catch (e) { seen = { refused: 1 }; }
  process.stdout.write(JSON.stringify(seen) + "\n");
}`

var exports = regexp.MustCompile(`(?s)export \{[^}]*\bloadSettings,[^}]*\}`)

// openGemini runs its own module in Node.js: to start all of it for each file would
// take seconds.
func openGemini(t *testing.T) func(*testing.T, string) []string {
	chunks, err := filepath.Glob(filepath.Join(modules(t), "@google/gemini-cli/bundle/chunk-*.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, chunk := range chunks {
		code, err := os.ReadFile(chunk)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(code), "function loadSettings(") || !exports.Match(code) {
			continue
		}
		p := start(t, []string{"GEMINI_CLI_TRUST_WORKSPACE=true", "MARK=EVIL"}, "node", "--input-type=module", "-e", reader, chunk)
		return func(t *testing.T, project string) []string {
			p.say(t, project)
			seen := decode(t, p.hear(t))
			return slices.DeleteFunc(append(marked(seen["workspace"], "theme"), marked(seen["merged"], "theme")...), ownText)
		}
	}
	t.Fatal("no module of Gemini CLI has loadSettings")
	return nil
}
