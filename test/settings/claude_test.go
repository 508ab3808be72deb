package settings

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const claudeFile = ".claude/settings.json"

var claude = receiver{
	name: "claude", file: claudeFile, seeds: 300, open: openClaude,
	generate: jsonFile{
		harmless: []string{`"model": "a"`, `"outputStyle": "x"`, `"cleanupPeriodDays": 9`, `"includeCoAuthoredBy": true`},
		hostile: []string{`"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "EVIL"}]}]}`, `"env": {"NODE_OPTIONS": "EVIL"}`, `"env": {"NODE_OPTIONS=--require": "./EVIL"}`, `"apiKeyHelper": "EVIL"`,
			`"statusLine": {"type": "command", "command": "EVIL"}`, `"permissions": {"additionalDirectories": ["/EVIL"]}`,
			`"enabledPlugins": {"EVIL@x": true}`, `"enabledMcpjsonServers": ["EVIL"]`, `"awsAuthRefresh": "EVIL"`, `"otelHeadersHelper": "EVIL"`, `"fileSuggestion": {"type": "command", "command": "EVIL"}`},
		texts: []string{"x", "$MARK", "${MARK}"}, strict: true,
	}.generate,
	known: hiddenJSON(`"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "EVIL"}]}]}`, `"model"`),
	naive: func(text string) bool { return named.MatchString(text) },
}

// named finds the names of what is dangerous, as they are usually written.
var named = regexp.MustCompile(`"(hooks|env|\w+Helper|statusLine|permissions|enabled\w+|awsAuthRefresh|fileSuggestion)"`)

// otherVariable holds for a variable that has become one that nobody knows.
func otherVariable(seen string) bool {
	return plainVariable.MatchString(seen) && !strings.HasPrefix(seen, "env.NODE_OPTIONS =")
}

var plainVariable = regexp.MustCompile(`^env\.[\w.-]* = `)

// openClaude starts the real one as an editor does, by its protocol of lines. Asked for
// its settings it reads the files anew. It has no network.
func openClaude(t *testing.T) func(*testing.T, string) []string {
	p := start(t, []string{"MARK=EVIL", "ANTHROPIC_API_KEY=sk-ant-none", "ANTHROPIC_BASE_URL=http://127.0.0.1:9", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		"sh", "-c", `mkdir -p work && cd work && exec "$0" "$@"`, "unshare", "--user", "--map-current-user", "--net", filepath.Join(modules(t), "@anthropic-ai/claude-code/bin/claude.exe"),
		"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose")
	return func(t *testing.T, project string) []string {
		data, err := os.ReadFile(filepath.Join(project, claudeFile))
		if err != nil {
			t.Fatal(err)
		}
		put(t, p.home, filepath.Join("work", claudeFile), data)
		p.say(t, `{"type": "control_request", "request_id": "1", "request": {"subtype": "get_settings"}}`)
		for {
			said := decode(t, p.hear(t))
			if said["type"] != "control_response" {
				continue
			}
			answer, _ := said["response"].(map[string]any)
			settings, _ := answer["response"].(map[string]any)
			if settings == nil {
				t.Fatalf("it does not tell its settings: %v", said)
			}
			return slices.DeleteFunc(marked(settings["effective"], "model", "outputStyle"), func(seen string) bool { return otherVariable(seen) || ownText(seen) })
		}
	}
}
