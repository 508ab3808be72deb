package agents

import (
	"path/filepath"
	"strings"
	"testing"
)

// searches are how an agent asks a provider for a search in the request for an answer.
var searches = []string{`"type":"web_search`, `"google_search":`, `"googleSearch":`}

func asksForSearch(asked string) bool {
	for _, s := range searches {
		if strings.Contains(asked, s) {
			return true
		}
	}
	return false
}

// TestLocked: in mode locked a provider does not search, and every agent works all the
// same. The control is Codex, which asks for a search in each request elsewhere.
func TestLocked(t *testing.T) {
	eachAgent(t, 0, func(t *testing.T, a agent) {
		p := newPerson(t, a)
		p.pay()
		dir := p.project(t, "one")
		if asked := p.converse(t, dir, a.begin, firstPrompt, say("that is all")); a.name == "codex" && !asksForSearch(asked) {
			t.Error("control: nothing asks for a search")
		}
		p.put(t, filepath.Join(p.home, ".config/ringfence/policy.toml"), "[network]\nmode = \"locked\"\n")
		if asked := p.converse(t, dir, a.beginOther('1'), secondPrompt, say("that is all")); asksForSearch(asked) {
			t.Error("a search is asked for")
		}
	})
}
