package audit

import (
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// serverChecks: MCP servers, whichever agent starts them, and settings as files.
var serverChecks = []Check{
	{ID: "AU-040", Severity: High, Title: "An MCP server is given a secret in plain text",
		Gets: "the secret, by reading one file", Fix: "put it in the environment as ${NAME} in {}, or: ringfence secret set NAME", probe: serverSecrets},
	{ID: "AU-041", Severity: High, Title: "An MCP server is reached without encryption",
		Gets: "whoever is on the way reads the calls and writes the answers, which the agent believes",
		Fix:  "use its https:// address in {}", probe: plainServers},
	{ID: "AU-042", Severity: Medium, Title: "An MCP server is whatever its registry has today",
		Gets: "the next release of that package runs as the user, whoever makes it",
		Fix:  "name a version (NAME@1.2.3, or IMAGE@sha256:...) in {}", probe: floatingServers},
	{ID: "AU-043", Severity: High, Title: "An MCP server is given everything",
		Gets: "files of the whole home, or the container engine, by way of the server",
		Fix:  "name the one directory it needs in {}", probe: wideServers},
	{ID: "AU-045", Severity: High, Title: "Others can write an agent's settings",
		Gets: "a hook or a server of theirs runs as the user", Fix: "chmod go-w {}", probe: openSettings},
}

const brokenID = "AU-044"

// lastChecks are asked when all others have read what they need.
var lastChecks = []Check{
	{ID: brokenID, Severity: Medium, Title: "A settings file cannot be read",
		Gets: "an agent that ignores it runs without the limits in it; this audit cannot see them",
		Fix:  "mend {}", probe: func(l *look) []hit { return l.broken }},
}

// server is an MCP server in the settings of an agent.
type server struct {
	agent string
	doc   *document
	*node
}

// servers lists those of all agents.
func (l *look) servers() (out []server) {
	add := func(agent string, from source, path ...string) {
		for _, d := range from(l) {
			for _, n := range d.root.All(path...) {
				if n.Kind == '{' && n.Name != "" {
					out = append(out, server{agent, d, n})
				}
			}
		}
	}
	add("claude", claudeState, "mcpServers", "*")
	add("claude", claudeState, "projects", "*", "mcpServers", "*")
	add("claude", claudeServers, "mcpServers", "*")
	add("codex", codex, "mcp_servers", "*")
	add("gemini", gemini, "mcpServers", "*")
	add("opencode", opencode, "mcp", "*")
	return out
}

func claudeServers(l *look) []*document {
	return l.all(append(l.projectPaths(".mcp.json"), l.at("/etc/claude-code/managed-mcp.json"))...)
}

func (l *look) foreignServer(s server) bool {
	return l.Project != "" && l.Project != l.Home && file.Within(s.doc.path, l.Project)
}

// command is what starts a server: opencode keeps it in one list.
func (s server) command() (words []*node) {
	words = s.Get("command").Strs()
	return append(words, s.Get("args").Strs()...)
}

// address is where a remote server is, in the words of each agent.
func (s server) address() *node {
	for _, key := range []string{"url", "httpUrl", "serverUrl"} {
		if n := s.Get(key); n.Str() != "" {
			return n
		}
	}
	return nil
}

func serverSecrets(l *look) (hits []hit) {
	for _, s := range l.servers() {
		if n, what := s.secret(); n != nil {
			hits = append(hits, hit{path: s.doc.path, line: n.Line, detail: s.Name + ": " + what})
		}
	}
	return hits
}

// secret returns the first value of a server that holds one, and what it is called.
func (s server) secret() (*node, string) {
	for _, table := range []string{"env", "environment", "headers", "http_headers"} {
		for _, v := range s.All(table, "*") {
			if secretName(v.Name) && held(v.Str()) || shapes().MatchString(v.Str()) {
				return v, table + "." + v.Name
			}
		}
	}
	if n := s.Get("bearer_token"); held(n.Str()) {
		return n, "bearer_token"
	}
	words := s.command()
	for i, w := range words {
		if what := secretIn(w.Text); what != "" {
			return w, what
		}
		if i > 0 && strings.HasPrefix(words[i-1].Text, "-") && secretName(words[i-1].Text) && held(w.Text) {
			return w, words[i-1].Text
		}
	}
	if n := s.address(); n != nil && (shapes().MatchString(n.Text) || secretIn(strings.NewReplacer("?", " ", "&", " ").Replace(n.Text)) != "") {
		return n, "its address"
	}
	return nil, ""
}

func plainServers(l *look) (hits []hit) {
	for _, s := range l.servers() {
		if n := s.address(); n != nil && openHTTP(n.Text) {
			hits = append(hits, hit{path: s.doc.path, line: n.Line, detail: s.Name})
		}
	}
	return hits
}

func floatingServers(l *look) (hits []hit) {
	for _, s := range l.servers() {
		if pkg := floating(s.command()); pkg != nil {
			hits = append(hits, hit{path: s.doc.path, line: pkg.Line, detail: s.Name + " by " + s.command()[0].Text})
		}
	}
	return hits
}

// floating returns the package that a runner would fetch in whatever version there
// is, or nil.
func floating(words []*node) *node {
	if len(words) == 0 {
		return nil
	}
	runner, rest := filepath.Base(words[0].Text), words[1:]
	switch runner {
	case "npx", "bunx", "uvx", "pipx", "pnpx":
	case "docker", "podman":
		return floatingImage(rest)
	default:
		return nil
	}
	for i, w := range rest {
		switch {
		case strings.HasPrefix(w.Text, "-"), w.Text == "run", i > 0 && slices.Contains([]string{"--from", "--python", "-p", "--registry"}, rest[i-1].Text) && rest[i-1].Text != "--from":
			continue
		}
		name := strings.TrimPrefix(w.Text, "@")
		if v := name[strings.LastIndexAny(name, "@=")+1:]; v == name || v == "latest" || v == "" {
			return w
		}
		return nil
	}
	return nil
}

// floatingImage: the image is the first word after run that is no option; options
// with a value of their own are few.
func floatingImage(words []*node) *node {
	valued := []string{"-e", "--env", "-v", "--volume", "--mount", "--name", "-p", "--publish", "--network", "--net", "-w", "--workdir", "-u", "--user", "--env-file", "--entrypoint"}
	run := slices.IndexFunc(words, func(n *node) bool { return n.Text == "run" })
	if run < 0 {
		return nil
	}
	for i := run + 1; i < len(words); i++ {
		w := words[i]
		switch {
		case slices.Contains(valued, w.Text):
			i++
		case strings.HasPrefix(w.Text, "-"):
		case strings.Contains(w.Text, "@sha256:"):
			return nil
		default:
			return w
		}
	}
	return nil
}

func wideServers(l *look) (hits []hit) {
	for _, s := range l.servers() {
		words := s.command()
		for i, w := range words {
			if i == 0 {
				continue
			}
			dir, _, _ := strings.Cut(w.Text[strings.IndexByte(w.Text, '=')+1:], ":")
			dir = l.expand(dir)
			if strings.Contains(w.Text, "docker.sock") || filepath.IsAbs(dir) && file.Within(l.Home, dir) {
				hits = append(hits, hit{path: s.doc.path, line: w.Line, detail: s.Name})
				break
			}
		}
	}
	return hits
}

// openSettings asks every settings file that was read so far, and their directories.
func openSettings(l *look) (hits []hit) {
	for _, from := range []source{claude, claudeState, claudeServers, codex, gemini, opencode} {
		for _, d := range from(l) {
			if st, ok := l.stat(d.path); ok && l.everybody().writable(st) {
				hits = append(hits, hit{path: d.path, detail: modeWords(st)})
			}
		}
	}
	return hits
}
