package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var judge = Judge{
	Secret: func(name string) bool {
		return strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_AUTH") || name == "STRIPE_ID"
	},
	Workspaces: []string{"/w"},
}

// rules returns the rules of a built-in profile for one of its settings files.
func rules(t *testing.T, agent, path string) Config {
	t.Helper()
	for _, c := range load(t, agent).Config {
		for _, p := range c.Paths {
			if p == path {
				return c
			}
		}
	}
	t.Fatalf("%s does not show %s", agent, path)
	return Config{}
}

// Every secret in the input has the word canary in it.
func TestScrubProfiles(t *testing.T) {
	tests := []struct{ agent, path, in string }{
		{"claude", "~/.claude/settings.json", "claude-settings.json"},
		{"codex", "~/.codex/config.toml", "codex-config.toml"},
		{"gemini", "~/.gemini/settings.json", "gemini-settings.json"},
		{"opencode", "~/.config/opencode/opencode.jsonc", "opencode.jsonc"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			in, err := os.ReadFile(filepath.Join("testdata", "scrub", tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(in, []byte("canary")) {
				t.Fatal("nothing to find")
			}
			out, gone, err := rules(t, tt.agent, tt.path).Scrub(in, judge)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(out, []byte("canary")) || strings.Contains(strings.Join(gone, "\n"), "canary") {
				t.Errorf("a secret is left:\n%s\n%q", out, gone)
			}
			text := string(out) + "--- removed\n" + strings.Join(gone, "\n") + "\n"
			golden(t, filepath.Join("scrub", tt.in+".golden"), []byte(text))
		})
	}
}

func TestScrubValue(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"a":"plain text","n":123456789012,"b":true,"l":[1,"x"],"u":null}`, `{"a":"plain text","n":123456789012,"b":true,"l":[1,"x"],"u":null}`},
		{`{"apiKey":"v","api_key":"v","X-Api-Key":"v","clientSecret":"v","MY_TOKEN":"v","STRIPE_ID":"v"}`, `{}`},
		{`{"maxTokens":4000,"MAX_OUTPUT_TOKENS":"4000","authToken":"true","apiKey":""}`, `{"maxTokens":4000,"MAX_OUTPUT_TOKENS":"4000","authToken":"true","apiKey":""}`},
		{`{"apiKey":"${MY_KEY}","token":"$T","password":"{env:P}"}`, `{"apiKey":"${MY_KEY}","token":"$T","password":"{env:P}"}`},
		{`{"apiKey":"${MY_KEY:-v}"}`, `{}`},
		{`{"credentials":{"user":"v","n":1,"deep":["v"]}}`, `{"credentials":{"n":1,"deep":[]}}`},
		{`{"args":["--api-key","v","--port","80"]}`, `{"args":["--port","80"]}`},
		{`{"args":["--api-key=v","-e","DB_PASSWORD=v","A=b"]}`, `{"args":["-e","A=b"]}`},
		{`{"url":"https://u:p@h/","b":"https://h/?api_key=v","c":"https://h/?page=2","d":"ssh://git@h/x"}`, `{"c":"https://h/?page=2","d":"ssh://git@h/x"}`},
		{`{"x":"postgres://u:p@h/db","cmd":"curl -H 'Authorization: Bearer abcdefgh'"}`, `{}`},
		{`{"allow":["Bash(GH_TOKEN=abc gh api:*)","Bash(go test:*)"]}`, `{"allow":["Bash(go test:*)"]}`},
		{`{"sk-ant-api03-abcdefghijklmnop":1,"x":{"ghp_abcdefghijklmnopqrstuvwxyz":2}}`, `{"x":{}}`},
		{`{"unit":{"name":{"cmd":"x","args":["--token","v"]},"other":{"env":{"A_TOKEN":"v","B":"c"}}}}`, `{"unit":{"other":{"env":{"B":"c"}}}}`},
		{`{"unit":{"list":["x",{"u":"https://u:p@h/"}],"kept":["x",["y"]]}}`, `{"unit":{"kept":["x",["y"]]}}`},
		{`{"a":"<b>&"}`, `{"a":"<b>&"}`},
	}
	for _, tt := range tests {
		out, _, err := Config{Format: "json", Rules: Rules{Unit: []string{"unit.*"}}}.Scrub([]byte(tt.in), judge)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if diff := cmp.Diff(generic(t, tt.want), generic(t, string(out))); diff != "" {
			t.Errorf("%s: %s", tt.in, diff)
		}
	}
}

func generic(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestScrubRefuses(t *testing.T) {
	tests := []struct{ format, in string }{
		{"json", ""}, {"json", "null"}, {"json", "[]"}, {"json", "3"}, {"json", `{"a":1`}, {"json", `{"a":1}{}`}, {"json", `{}}`},
		{"json", `{"a":"`}, {"json", `{"a":1 /*`}, {"json", `{"a":1,,}`}, {"json", `{"a":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + "}"},
		{"json", `{"a":"` + strings.Repeat("x", maxSettings) + `"}`},
		{"toml", "a = "}, {"toml", "a = 1\na = 2"}, {"toml", "a = " + strings.Repeat("[", maxBrackets+1)},
		{"toml", "a = " + strings.Repeat("[", 65) + strings.Repeat("]", 65)},
		{"yaml", "a: 1"}, {"", "{}"},
	}
	for _, tt := range tests {
		if out, _, err := (Config{Format: tt.format}).Scrub([]byte(tt.in), judge); err == nil {
			t.Errorf("%s %.40q: %q", tt.format, tt.in, out)
		}
	}
}

func TestPlainJSON(t *testing.T) {
	tests := []struct{ in, want string }{
		{"{\"a\": 1, // c\n}", `{"a":1}`},
		{`{/* , */"a": [1, 2, /* x */ ],}`, `{"a":[1,2]}`},
		{`{"a": "// no /* comment */ ,}"}`, `{"a":"// no /* comment */ ,}"}`},
		{`{"a\"": "\\", }`, `{"a\"":"\\"}`},
		{"\xef\xbb\xbf{}", `{}`},
	}
	for _, tt := range tests {
		tree, err := parse("json", []byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		got, err := json.Marshal(tree)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v", tt.in, got, err)
		}
	}
}

// Whatever comes in, what comes out is valid, is not changed by a second pass,
// and has no string under a key that is known to be secret.
func FuzzScrub(f *testing.F) {
	for _, name := range []string{"claude-settings.json", "gemini-settings.json", "opencode.jsonc", "codex-config.toml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "scrub", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(strings.HasSuffix(name, ".toml"), data)
	}
	f.Add(false, []byte(`{"a":[{"password":"x"},["--token","y"]],}`))
	f.Add(false, []byte("{\"\x00\":\"\xff\",\"b\":1e999}"))
	f.Add(true, []byte("a = {b = [1979-05-27, inf, {token = 'x'}]}\n[[x.y]]\npassword = '''z'''"))
	f.Fuzz(func(t *testing.T, asTOML bool, data []byte) {
		c := Config{Format: "json", Rules: Rules{Drop: []string{"d", "a.*.b"}, Mine: []string{"p"}, Unit: []string{"u", "a.*"}}}
		if asTOML {
			c.Format = "toml"
		}
		once, _, err := c.Scrub(data, judge)
		if err != nil {
			return
		}
		twice, gone, err := c.Scrub(once, judge)
		if err != nil {
			t.Fatalf("output is not valid: %v\n%s", err, once)
		}
		if !bytes.Equal(once, twice) {
			t.Errorf("second pass differs: %q\n%s\n%s", gone, once, twice)
		}
		tree, err := parse(c.Format, once)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := tree["password"].(string); ok && !harmless(s) {
			t.Errorf("password is left: %s", once)
		}
	})
}
