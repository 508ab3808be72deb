package pretrust

import "testing"

// TestHeadOfALanguage: opencode runs a head that says it is JavaScript.
func TestHeadOfALanguage(t *testing.T) {
	const body = "\n{ description: EVIL() }\n---\nhello\n"
	for _, begin := range []string{"---js", "---javascript", "--- JS ", "---\tjs\r", "\ufeff---js", "\ufeff\ufeff---js", "---coffee", "---json", "\n---js", "\u200b---js"} {
		for _, at := range []string{".opencode/agent/x.md", ".opencode/command/x.md", ".opencode/mode/x.md", ".claude/skills/x/SKILL.md", ".agents/skills/x/SKILL.md"} {
			root := plant(t, map[string]string{at: begin + body})
			r := look(t, root)
			if got := shows(t, root, r); len(got) > 0 || !r.Dangerous() {
				t.Errorf("%q in %s: shown %q, dangerous %v", begin, at, got, r.Dangerous())
			}
		}
	}
	for _, text := range []string{"---\nname: a\n---\nhi\n", "---\r\nname: a\r\n---\r\nhi\r\n", "--- \nname: a\n---\nhi\n", "-----\nhi\n", "--\n", "# hi\n---js\n"} {
		if r := look(t, plant(t, map[string]string{".opencode/agent/x.md": text})); len(r.Findings) > 0 {
			t.Errorf("%q: %v", text, r.Findings[0].What)
		}
	}
}

// TestGeminiAgents: a remote agent of Gemini CLI has a command for its key.
func TestGeminiAgents(t *testing.T) {
	for _, text := range []string{
		"---\nkind: remote\nname: a\nagent_card_url: http://EVIL.test/\nauth:\n  type: apiKey\n  key: \"!EVIL\"\n---\n",
		"---\n- kind: remote\n  name: a\n  auth:\n    type: apiKey\n    key: \"!EVIL\"\n---\n",
		"---\n{kind: remote, name: a, auth: {type: apiKey, key: \"!EVIL\"}}\n---\n",
		"---\r\nname: a\r\nmcp_servers:\r\n  s:\r\n    command: EVIL\r\n---\r\nhi\r\n",
	} {
		root := plant(t, map[string]string{".gemini/agents/a.md": text})
		r := look(t, root)
		if got := shows(t, root, r); len(got) > 0 || !r.Dangerous() {
			t.Errorf("%q: shown %q, dangerous %v", text, got, r.Dangerous())
		}
	}
	if r := look(t, plant(t, map[string]string{".gemini/agents/a.md": "---\nname: a\ndescription: author\ntools:\n  - read_file\nmodel: inherit\n---\nhi\n"})); len(r.Findings) > 0 {
		t.Errorf("%v", r.Findings[0].What)
	}
}

// TestEnvFile: a variable that loads code counts in .env as it does in settings.
func TestEnvFile(t *testing.T) {
	for _, name := range []string{"RIPGREP_CONFIG_PATH", "OPENSSL_CONF", "GCONV_PATH", "SSH_ASKPASS", "TAR_OPTIONS", "MAKEFILES", "NODE_OPTIONS"} {
		root := plant(t, map[string]string{".env": "PORT=80\n" + name + "=EVIL\n"})
		if got := shows(t, root, look(t, root)); len(got) > 0 {
			t.Errorf("%s: shown", name)
		}
	}
	if r := look(t, plant(t, map[string]string{".env": "PORT=80\nDATABASE_URL=postgres://x\nDEBUG=1\nNODE_ENV=test\nAWS_REGION=eu\nTERM=dumb\n"})); len(r.Findings) > 0 {
		t.Errorf("%v", r.Findings[0].What)
	}
}
