package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func claudeJSON(t *testing.T) State {
	t.Helper()
	for _, s := range load(t, "claude").State {
		if s.Path == "~/.claude.json" {
			return s
		}
	}
	t.Fatal("claude keeps no ~/.claude.json")
	return State{}
}

func TestFill(t *testing.T) {
	host := `{
		"theme": "dark", "hasCompletedOnboarding": true, "numStartups": 12,
		"primaryApiKey": "canary", "userID": "canary", "oauthAccount": {"emailAddress": "canary"},
		"customApiKeyResponses": {"approved": ["canary"]}, "somethingNew": "canary",
		"mcpServers": {
			"a": {"type": "http", "url": "https://mcp.example", "headers": {"X": "canary"}},
			"b": {"command": "b", "env": {"B_TOKEN": "canary", "B_HOST": "h"}},
			"c": {"command": "c", "args": ["--password", "canary"]}
		},
		"projects": {
			"/w": {"hasTrustDialogAccepted": true, "allowedTools": ["Bash(ls:*)"], "history": [{"display": "canary"}]},
			"/canary": {"hasTrustDialogAccepted": true}
		}
	}`
	want := `{
		"theme": "dark", "hasCompletedOnboarding": true, "numStartups": 12,
		"projects": {"/w": {"hasTrustDialogAccepted": true, "allowedTools": ["Bash(ls:*)"]}}
	}`
	got := string(claudeJSON(t).Fill([]byte(host), judge))
	if diff := cmp.Diff(generic(t, want), generic(t, got)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(got, "canary") {
		t.Errorf("a secret is left: %s", got)
	}
}

func TestFillWithoutHost(t *testing.T) {
	for _, host := range []string{"", "{", "[]", "null", strings.Repeat("x", maxSettings+1)} {
		if got := string(claudeJSON(t).Fill([]byte(host), judge)); got != "{\"hasCompletedOnboarding\": true}\n" {
			t.Errorf("%.20q: %q", host, got)
		}
	}
	plain := State{Path: "~/x", Kind: KindFile, Seed: "not json"}
	if got := string(plain.Fill([]byte(`{"a":1}`), judge)); got != "not json" {
		t.Errorf("got %q", got)
	}
}

func FuzzFill(f *testing.F) {
	f.Add([]byte(`{"theme":"dark","projects":{"/w":{"allowedTools":["x"]},"/other":{}},"primaryApiKey":"k"}`))
	f.Add([]byte(`{"projects":[],"mcpServers":{"a":{"env":null}}}`))
	f.Fuzz(func(t *testing.T, host []byte) {
		s := State{Seed: "{}", Carry: []string{"theme", "projects.*.ok"}, Rules: Rules{Mine: []string{"projects"}}}
		tree, err := parse("json", s.Fill(host, judge))
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range tree {
			if key != "theme" && key != "projects" {
				t.Errorf("%q was carried", key)
			}
			projects, ok := value.(map[string]any)
			for name := range projects {
				if ok && key == "projects" && name != "/w" {
					t.Errorf("project %q was carried", name)
				}
			}
		}
	})
}
