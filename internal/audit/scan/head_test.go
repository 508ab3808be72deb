package scan

import "testing"

// TestHeadOfALanguage: opencode runs a head that says it is JavaScript.
func TestHeadOfALanguage(t *testing.T) {
	const body = "\n{ description: EVIL() }\n---\nhello\n"
	for _, begin := range []string{"---js", "---javascript", "--- JS ", "---\tjs\r", "\ufeff---js", "\ufeff\ufeff---js", "---coffee", "---json", "\n---js", "\u200b---js"} {
		for _, at := range []string{".opencode/agent/x.md", ".opencode/command/x.md", ".opencode/mode/x.md", ".claude/skills/x/SKILL.md", ".agents/skills/x/SKILL.md"} {
			root := plant(t, map[string]string{at: begin + body})
			r := look(t, root)
			if got := shows(t, root, r); len(got) > 0 || !dangerous(r) {
				t.Errorf("%q in %s: shown %q, dangerous %v", begin, at, got, dangerous(r))
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
		if got := shows(t, root, r); len(got) > 0 || !dangerous(r) {
			t.Errorf("%q: shown %q, dangerous %v", text, got, dangerous(r))
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

// TestLinesHaveOneReading: dotenv, which Gemini CLI reads .env with, knows more blanks and
// more ends of lines.
func TestLinesHaveOneReading(t *testing.T) {
	for _, text := range []string{"export\tNODE_OPTIONS=EVIL\n", "export  NODE_OPTIONS=EVIL\n", "\ufeff\ufeffNODE_OPTIONS=EVIL\n", "A=1\n\ufeffNODE_OPTIONS=EVIL\n",
		"# hi\u2028NODE_OPTIONS=EVIL\n", "A='1'\u2029NODE_OPTIONS=EVIL\n", "NODE_OPTIONS\ufeff=EVIL\n", "export\u00a0NODE_OPTIONS=EVIL\n", "export\u3000NODE_OPTIONS=EVIL\n",
		"export\vNODE_OPTIONS=EVIL\n", "A=1\rNODE_OPTIONS=EVIL\n", "NODE_OPTIONS:  EVIL\n"} {
		root := plant(t, map[string]string{".env": text})
		if got := shows(t, root, look(t, root)); len(got) > 0 {
			t.Errorf("%q: shown", text)
		}
	}
	if r := look(t, plant(t, map[string]string{".env": "\ufeff# für alle\r\nexport A=1\r\nNAME=\"Jörg – ß\"\r\nB =\t2\n"})); len(r.Findings) > 0 {
		t.Errorf("%v", r.Findings[0].What)
	}
}

// TestNpmrcOfOpencode: opencode installs packages in its own directory when it starts,
// and the settings there name the program for git.
func TestNpmrcOfOpencode(t *testing.T) {
	root := plant(t, map[string]string{".opencode/.npmrc": "registry=https://npm.test/\ngit=EVIL\n", "a/.opencode/.npmrc": "git=EVIL\n"})
	r, err := Scan(root, First("a/b"))
	if err != nil {
		t.Fatal(err)
	}
	if got := shows(t, root, r); len(got) > 0 || !dangerous(r) {
		t.Errorf("shown %q, dangerous %v", got, dangerous(r))
	}
}
