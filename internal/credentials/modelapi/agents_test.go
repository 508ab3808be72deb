package modelapi

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// capture is a request that an agent made of itself. Words are replaced, and
// credentials are left out; names, types and headers are as they were.
type capture struct {
	How     string
	API     API
	Method  string
	Path    string
	Query   string
	Headers map[string]string
	Body    json.RawMessage
}

// captures are of Claude Code 2.1.197, Codex 0.166.0, Gemini CLI 0.61.0 and
// opencode 1.18.33.
func captures(t testing.TB) map[string][]capture {
	t.Helper()
	files, err := filepath.Glob("testdata/agents/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("agents: %v, %v", files, err)
	}
	all := map[string][]capture{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var requests []capture
		if err := json.Unmarshal(data, &requests); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = requests
	}
	return all
}

func (c *capture) header() http.Header {
	h := http.Header{}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	return h
}

func TestTodaysAgentsPass(t *testing.T) {
	for agent, requests := range captures(t) {
		for _, c := range requests {
			rule, err := c.API.Judge(c.Method, c.Path, c.Query)
			if err != nil {
				t.Errorf("%s, %s: %s %s?%s: %v", agent, c.How, c.Method, c.Path, c.Query, err)
				continue
			}
			if err := c.API.JudgeBody(rule, c.Body, Default); err != nil {
				t.Errorf("%s, %s: body of %s: %v", agent, c.How, c.Path, err)
			}
			out, err := c.API.Forward(c.header(), Default)
			if err != nil {
				t.Errorf("%s, %s: headers of %s: %v", agent, c.How, c.Path, err)
			}
			for name := range c.Headers {
				if len(out[name]) == 0 && name != "Sec-Fetch-Mode" && name != "X-Service-Name" && name != "Cache-Control" {
					t.Errorf("%s, %s: %s lost the header %s", agent, c.How, c.Path, name)
				}
			}
		}
	}
}

// Without search only the requests that search are denied, and for that.
func TestSearchIsAllThatTodaysAgentsNeed(t *testing.T) {
	denied := map[string]bool{}
	for agent, requests := range captures(t) {
		for _, c := range requests {
			rule, err := c.API.Judge(c.Method, c.Path, c.Query)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.API.JudgeBody(rule, c.Body, Allow{}); err != nil {
				denied[agent] = true
				if d := err.(*Denied); d.Rule != string(c.API)+".search" {
					t.Errorf("%s, %s: %s: %v", agent, c.How, d.Rule, err)
				}
			}
		}
	}
	for _, agent := range []string{"claude", "codex", "gemini"} {
		if !denied[agent] {
			t.Errorf("%s does not search in any request: the test shows nothing", agent)
		}
	}
}
