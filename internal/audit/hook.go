package audit

import (
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// hookChecks: programs that settings make an agent run.
var hookChecks = []Check{
	{ID: "AU-030", Severity: Info, Title: "A hook of Claude Code runs a program",
		Gets: "nothing by itself: this is the inventory", Fix: "look whether you know {}", probe: hookInventory},
	{ID: "AU-031", Severity: High, Title: "Others can write a program that a hook runs",
		Gets: "their code runs as the user at the next tool call", Fix: "chmod go-w {}", probe: openHooks},
	{ID: "AU-032", Severity: High, Title: "A hook runs what it fetches from the network",
		Gets: "whoever owns that page, or the network to it, runs code as the user",
		Fix:  "fetch it once, read it, and run the copy in {}", probe: fetchingHooks},
	{ID: "AU-034", Severity: High, Title: "Claude Code starts every MCP server that a project names",
		Gets: "code of any repository runs as soon as it is opened",
		Fix:  `"enableAllProjectMcpServers": false in {}`, probe: says(claude, on, "enableAllProjectMcpServers")},
	{ID: "AU-035", Severity: Medium, Title: "An MCP server of a project is approved beforehand",
		Gets: "a repository that names a server so has it started without a question",
		Fix:  `take it out of "enabledMcpjsonServers" in {}`, probe: either(
			says(claude, anyText, "enabledMcpjsonServers", "*"), says(claudeState, anyText, "projects", "*", "enabledMcpjsonServers", "*"))},
}

// program is a command that settings name.
type program struct {
	doc     *document
	at      *node
	key     string // which setting
	command string
}

// programs lists what Claude Code's settings run.
func (l *look) programs() (out []program) {
	for _, d := range claude(l) {
		for _, event := range d.root.All("hooks", "*") {
			for _, c := range event.All("*", "hooks", "*", "command") {
				out = append(out, program{d, c, "hooks." + event.Name, c.Str()})
			}
		}
		for _, key := range []string{"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper"} {
			if n := d.root.Get(key); n.Str() != "" {
				out = append(out, program{d, n, key, n.Text})
			}
		}
		if n := d.root.Get("statusLine", "command"); n.Str() != "" {
			out = append(out, program{d, n, "statusLine", n.Text})
		}
	}
	return out
}

// name is the program of a command line, without its arguments, which may hold
// anything.
func (p program) name() string {
	for _, w := range strings.Fields(p.command) {
		w = strings.Trim(w, `"'`)
		if !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}

func (w *World) ofProject(p program) bool {
	return w.Project != "" && w.Project != w.Home && file.Within(p.doc.path, w.Project)
}

func hookInventory(l *look) (hits []hit) {
	for _, p := range l.programs() {
		if !l.ofProject(p) {
			hits = append(hits, hit{path: p.doc.path, line: p.at.Line, detail: p.key + " runs " + p.name(), about: p.name()})
		}
	}
	return hits
}

// openHooks looks at each word of a command that is a path: interpreters are given
// their script as an argument.
func openHooks(l *look) (hits []hit) {
	for _, p := range l.programs() {
		for _, w := range strings.Fields(p.command) {
			file := l.expand(strings.Trim(w, `"'`))
			if !filepath.IsAbs(file) {
				continue
			}
			if st, ok := l.stat(file); ok && isRegular(st) && l.everybody().writable(st) {
				hits = append(hits, hit{path: file, detail: modeWords(st) + ", run by " + p.key + " in " + l.word(p.doc.path)})
			}
		}
	}
	return hits
}

var fetched = lazy(`\b(?:curl|wget)\b[^|;&]*\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|z|da)?sh\b|\b(?:ba|z|da)?sh\s+(?:-c\s+)?["']?(?:<\(|\$\(|` + "`" + `)\s*(?:curl|wget)\b`)

func fetchingHooks(l *look) (hits []hit) {
	for _, p := range l.programs() {
		if fetched().MatchString(p.command) {
			hits = append(hits, hit{path: p.doc.path, line: p.at.Line, detail: p.key})
		}
	}
	return hits
}
