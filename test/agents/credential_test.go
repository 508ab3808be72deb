package agents

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/stage"
)

// credential is a way in which a host can be a customer of the model's vendor, and how
// the vendor must see it. {KEY} is real.
type credential struct {
	name  string
	agent agent
	env   []string          // of the launcher
	files map[string]string // in HOME
	args  []string          // in place of the agent's
	path  string            // what the model is asked by
	head  map[string]string // fields of every request
}

// oauth is part of every request with a login of Anthropic's.
const oauth = "oauth-2025-04-20"

var credentials = []credential{
	{name: "key", agent: claude, env: []string{"ANTHROPIC_API_KEY={KEY}"}, path: "/v1/messages", head: map[string]string{"X-Api-Key": "{KEY}"}},
	{name: "token", agent: claude, env: []string{"ANTHROPIC_AUTH_TOKEN={KEY}"}, path: "/v1/messages", head: map[string]string{"Authorization": "Bearer {KEY}"}},
	{name: "token of a login", agent: claude, env: []string{"CLAUDE_CODE_OAUTH_TOKEN={KEY}"}, path: "/v1/messages",
		head: map[string]string{"Authorization": "Bearer {KEY}", "Anthropic-Beta": oauth}},
	{name: "login", agent: claude, files: claude.login, path: "/v1/messages",
		head: map[string]string{"Authorization": "Bearer {KEY}", "Anthropic-Beta": oauth}},
	{name: "key", agent: codex, env: []string{"OPENAI_API_KEY={KEY}"}, path: "/v1/responses", head: map[string]string{"Authorization": "Bearer {KEY}"}},
	{name: "kept key", agent: codex, files: codex.login, path: "/v1/responses", head: map[string]string{"Authorization": "Bearer {KEY}"}},
	{name: "login", agent: codex, path: "/v1/responses",
		files: map[string]string{".codex/auth.json": `{"auth_mode": "chatgpt", "tokens": {"id_token": "a.b.c", "access_token": "{KEY}", "refresh_token": "{KEY}-again",
			"account_id": "account-of-mine"}, "last_refresh": "2099-01-01T00:00:00Z"}`},
		head: map[string]string{"Authorization": "Bearer {KEY}", "Chatgpt-Account-Id": "account-of-mine"}},
	{name: "key", agent: gemini, env: []string{"GEMINI_API_KEY={KEY}"}, path: ":streamGenerateContent", head: map[string]string{"X-Goog-Api-Key": "{KEY}"}},
	{name: "login", agent: gemini, files: gemini.login, path: "/v1internal:streamGenerateContent", head: map[string]string{"Authorization": "Bearer {KEY}"}},
	{name: "key", agent: opencode, env: []string{"ANTHROPIC_API_KEY={KEY}"}, path: "/v1/messages", head: map[string]string{"X-Api-Key": "{KEY}"}},
	{name: "kept key", agent: opencode, files: opencode.login, path: "/v1/messages", head: map[string]string{"X-Api-Key": "{KEY}"}},
	{name: "login", agent: opencode, files: map[string]string{".local/share/opencode/auth.json": `{"anthropic": {"type": "oauth", "access": "{KEY}", "refresh": "{KEY}-again", "expires": 4102444800000}}`},
		path: "/v1/messages", head: map[string]string{"Authorization": "Bearer {KEY}", "Anthropic-Beta": oauth}},
	{name: "key of another vendor", agent: opencode, env: []string{"OPENAI_API_KEY={KEY}"}, args: []string{"run", "-m", "openai/gpt-5"},
		path: "/v1/responses", head: map[string]string{"Authorization": "Bearer {KEY}"}},
	{name: "key, by chat completions", agent: opencode, env: []string{"OPENAI_API_KEY={KEY}"}, args: []string{"run", "-m", "openai/one"},
		files: map[string]string{".config/opencode/opencode.json": `{"provider": {"openai": {"npm": "@ai-sdk/openai-compatible", "models": {"one": {}}}}}`},
		path:  "/v1/chat/completions", head: map[string]string{"Authorization": "Bearer {KEY}"}},
}

// TestCredentials: whatever the host has, the agent works with it, by a tool and back,
// and the vendor sees it in the form that it wants.
func TestCredentials(t *testing.T) {
	t.Run("each", func(t *testing.T) {
		for i, c := range credentials {
			if !stage.Mine(i) {
				continue
			}
			t.Run(c.agent.name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				c.expect(t)
			})
		}
	})
}

func (c credential) expect(t *testing.T) {
	p := newPerson(t, c.agent)
	for path, text := range c.files {
		p.put(t, filepath.Join(p.home, path), text)
	}
	fill := strings.NewReplacer("{KEY}", p.key)
	for _, v := range c.env {
		p.env = append(p.env, fill.Replace(v))
	}
	m := model.New(typed, use(c.agent.shell("printf '%s-is-the-answer' 42")), say(answer))
	url := p.hire(t, m)
	p.env = append(p.env, "OPENAI_BASE_URL="+url+"/v1") // of another vendor than the agent's first
	args := c.args
	if args == nil {
		args = p.arguments(c.agent.args, c.agent.begin)
	}
	r := p.ringfence(t, p.project(t, "one"), slices.Concat([]string{c.agent.name, "--"}, args, []string{typed})...)
	if r.status != 0 || !strings.Contains(r.stdout, answer) {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	if result, _ := m.Result(0, 0); !strings.Contains(result, "42-is-the-answer") {
		t.Errorf("the model was told %q", result)
	}
	p.expectBrokered(t, m)
	for _, q := range m.Requests() {
		asked, _, _ := strings.Cut(q.Path, "?")
		if q.Turn >= 0 && !strings.HasSuffix(asked, c.path) {
			t.Errorf("the model was asked by %s", q.Path)
		}
		for name, want := range c.head {
			if got := q.Head.Get(name); got != fill.Replace(want) && !(name == "Anthropic-Beta" && strings.Contains(got, want)) {
				t.Errorf("%s: %s is %q", q.Path, name, got)
			}
		}
	}
}
