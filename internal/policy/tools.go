package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Tools says which programs may be fetched for a project that the host does not have. A nil
// field was not written.
type Tools struct {
	Allow   List  // tools that are fetched without a question, as ParseTool reads them
	Default *Rule // "ask" or "none", for all others; nil means ask
}

// The words of Default.
const (
	ToolsAsk  = "ask"
	ToolsNone = "none"
)

// toolSources are where a tool can come from.
var toolSources = []string{"debian", "npm", "pypi", "go", "crates", "nix"}

const (
	maxTools    = 256
	maxTool     = 214
	patternTool = `^(debian:[a-z0-9][a-z0-9+.-]+|npm:(@[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*|pypi:[A-Za-z0-9][A-Za-z0-9._-]*|crates:[A-Za-z0-9][A-Za-z0-9_-]*|go:[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9._~-]+)*|nix:[A-Za-z0-9][A-Za-z0-9._-]*)$`
)

// Tool is a program of others: a source, and the name of a package there.
type Tool struct{ Source, Name string }

func (t Tool) String() string { return t.Source + ":" + t.Name }

func checkTool(v string) error {
	_, err := ParseTool(v)
	return err
}

// ParseTool reads SOURCE:NAME. The source is never left out: one name has another publisher
// in each of them. No version can be written: the sources choose the newest that is old
// enough.
func ParseTool(v string) (Tool, error) {
	source, name, ok := strings.Cut(v, ":")
	t := Tool{source, name}
	switch {
	case !ok:
		return Tool{}, fmt.Errorf("%.60q has no source: write one of %s before it, as in debian:jq", v, strings.Join(toolSources, ", "))
	case !slices.Contains(toolSources, source):
		return Tool{}, fmt.Errorf("%.60q: tools come from %s", v, strings.Join(toolSources, ", "))
	case len(v) > maxTool:
		return Tool{}, fmt.Errorf("the name of a tool has at most %d bytes", maxTool)
	case !toolName(t):
		return Tool{}, fmt.Errorf("%.60q is no name of a package of %s", v, source)
	}
	return t, nil
}

// toolName takes what a source has names of. None begins as an option of a command does, and
// none is a path.
func toolName(t Tool) bool {
	only := func(s, set string) bool { return s != "" && strings.Trim(s, set) == "" }
	switch t.Source {
	case "debian":
		const name = "abcdefghijklmnopqrstuvwxyz0123456789"
		return len(t.Name) > 1 && only(t.Name, name+"+.-") && strings.ContainsRune(name, rune(t.Name[0]))
	case "go":
		return checkModule(t.String(), Package{Tool: "go", Name: t.Name}) == nil
	case "npm":
		if scope, bare, ok := strings.Cut(t.Name, "/"); ok {
			return strings.HasPrefix(scope, "@") && packageName(scope[1:]) && packageName(bare)
		}
	}
	return packageName(t.Name)
}

// Allows reports whether a tool is fetched without a question.
func (t *Tools) Allows(tool Tool) bool { return t.Allow.has(tool.String()) }

// Asks reports whether a person may say yes to a tool that is not allowed.
func (t *Tools) Asks() bool { return t.Default.Text() != ToolsNone }

// tightenTools takes from over what can only take away.
func tightenTools(t, o *Tools) {
	t.Allow = both(t.Allow, o.Allow, o.Allow.has, t.Allow.has)
	if !o.Asks() && o.Allow == nil { // it switches tools off, and has no list of its own
		t.Allow = List{}
	}
	if !o.Asks() && t.Asks() {
		t.Default = o.Default
	}
}

// widensTools lists what of one key of over base does not give already.
func widensTools(k *key, base, over *Policy) (out List) {
	b, o := &base.Tools, &over.Tools
	if k.name == "default" {
		if o.Default != nil && o.Asks() && !b.Asks() {
			out = List{*o.Default}
		}
		return out
	}
	for _, r := range o.Allow {
		if !b.Allow.has(r.Value) {
			out = append(out, r)
		}
	}
	return out
}
