package policy

import "slices"

// What becomes of MCP servers that no table names, from tight to wide.
const (
	UnnamedNone = "none"
	UnnamedAsk  = "ask"
	UnnamedAll  = "all"
)

const unnamedKey = "default"

var unnamedWords = []string{UnnamedNone, UnnamedAsk, UnnamedAll}

// UnnamedServers is what becomes of them.
func (p *Policy) UnnamedServers() string {
	if p.Unnamed == nil {
		return UnnamedNone
	}
	return p.Unnamed.Value
}

func (p *Policy) unnamedWidth() int { return slices.Index(unnamedWords, p.UnnamedServers()) }

// tightenUnnamed takes the tighter of the two.
func tightenUnnamed(out, over *Policy) {
	if over.Unnamed != nil && over.unnamedWidth() < out.unnamedWidth() {
		out.Unnamed = over.Unnamed
	}
}

// widensUnnamed lists what over gives and base does not.
func widensUnnamed(base, over *Policy) List {
	if over.Unnamed != nil && over.unnamedWidth() > base.unnamedWidth() {
		return List{*over.Unnamed}
	}
	return nil
}
