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
		"projects": {"/w": {"allowedTools": ["Bash(ls:*)"]}}
	}`
	state := claudeJSON(t)
	state.Answer = nil
	got := string(state.Fill([]byte(host), judge))
	if diff := cmp.Diff(generic(t, want), generic(t, got)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(got, "canary") {
		t.Errorf("a secret is left: %s", got)
	}
}

func TestFillWithoutHost(t *testing.T) {
	for _, host := range []string{"", "{", "[]", "null", strings.Repeat("x", maxSettings+1)} {
		got := string(claudeJSON(t).Fill([]byte(host), judge))
		want := `{"hasCompletedOnboarding": true, "projects": {"/w": {"hasTrustDialogAccepted": true}}}`
		if diff := cmp.Diff(generic(t, want), generic(t, got)); diff != "" {
			t.Errorf("%.20q: %s", host, diff)
		}
	}
	plain := State{Path: "~/x", Kind: KindFile, Seed: "not json"}
	if got := string(plain.Fill([]byte(`{"a":1}`), judge)); got != "not json" {
		t.Errorf("got %q", got)
	}
}

// TestAnswered: the folder is trusted for the agent, by us: whatever an earlier session
// left, and only for what this session works in.
func TestAnswered(t *testing.T) {
	s := claudeJSON(t)
	j := Judge{Secret: judge.Secret, Workspaces: []string{"/w"}, Dir: "/w/a.b"}
	for before, want := range map[string]string{
		`{"x": 12345678901234567890}`: `{"x": 12345678901234567890, "projects": {"/w": {"hasTrustDialogAccepted": true}, "/w/a.b": {"hasTrustDialogAccepted": true}}}`,
		`{"projects": {"/w": {"hasTrustDialogAccepted": false, "y": 1}, "/w/a.b": {"hasTrustDialogAccepted": true}, "/z": {}}}`: `{"projects": {"/w": {"hasTrustDialogAccepted": true, "y": 1}, "/w/a.b": {"hasTrustDialogAccepted": true}, "/z": {}}}`,
		`{"projects": {"/w": {"hasTrustDialogAccepted": true}, "/w/a.b": {"hasTrustDialogAccepted": true}}}`:                    "",
		`{"projects": []}`: "", `{`: "", ``: "", `[]`: "",
	} {
		got := string(s.Answered([]byte(before), j))
		if got == "" && want == "" {
			continue
		}
		if want == "" {
			t.Errorf("%s: became %s", before, got)
			continue
		}
		if diff := cmp.Diff(generic(t, want), generic(t, got)); diff != "" {
			t.Errorf("%s: %s", before, diff)
		}
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
