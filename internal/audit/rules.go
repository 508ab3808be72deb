package audit

import (
	"net/url"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// broadRules judges the rules by which Claude Code does things without asking.
func broadRules(l *look) (hits []hit) {
	judge := func(d *document, rules []*node) {
		for _, r := range rules {
			if why, severity := broad(r.Str()); why != "" {
				hits = append(hits, hit{path: d.path, line: r.Line, detail: why, severity: severity})
			}
		}
	}
	for _, d := range claude(l) {
		judge(d, d.root.All("permissions", "allow", "*"))
	}
	for _, d := range claudeState(l) {
		judge(d, d.root.All("projects", "*", "allowedTools", "*"))
	}
	return hits
}

// anything are commands that do anything if their arguments are free: they run what
// they are given, or carry it out.
var anything = []string{"sh", "bash", "zsh", "dash", "fish", "python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "eval", "exec", "env", "xargs",
	"sudo", "doas", "su", "docker", "podman", "ssh", "scp", "rsync", "npx", "bunx", "uvx", "curl", "wget", "nc", "ncat", "socat", "telnet",
	"kubectl", "terraform", "aws", "gcloud", "az", "rm", "git push"}

// broad says why a rule allows too much, and how bad that is; "" if it does not.
func broad(rule string) (why string, severity Severity) {
	tool, spec, limited := strings.Cut(rule, "(")
	spec = strings.TrimSuffix(spec, ")")
	free := !limited || spec == "" || strings.Trim(spec, "*:/~ ") == ""
	switch tool {
	case "*", "mcp__*":
		return "every tool", High
	case "Bash":
		if free {
			return "every command", High
		}
		if cmd, any := openEnd(spec); any && slices.Contains(anything, cmd) {
			return cmd + " with any argument", Medium
		}
	case "Read", "Edit", "Write", "MultiEdit":
		if free {
			return tool + " of every file", Medium
		}
	case "WebFetch":
		if free || spec == "domain:*" {
			return "any page of the internet", Medium
		}
	}
	return "", ""
}

// openEnd splits a rule about a command that leaves the arguments open.
func openEnd(spec string) (cmd string, open bool) {
	cmd, open = strings.CutSuffix(spec, "*")
	return strings.TrimRight(cmd, ": "), open
}

// secretSettings looks at what settings put into the environment.
func secretSettings(l *look) (hits []hit) {
	for _, d := range claude(l) {
		for _, v := range d.root.All("env", "*") {
			if secretName(v.Name) && held(v.Str()) || shapes().MatchString(v.Str()) {
				hits = append(hits, hit{path: d.path, line: v.Line, detail: "env." + v.Name})
			}
		}
	}
	return hits
}

// bases are variables that say whom an agent talks to, and by way of whom.
var bases = []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL",
	"OPENAI_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"}

// redirected tells what gives the traffic away. A project's own settings are judged
// with all else that it runs on opening.
func redirected(l *look) (hits []hit) {
	for _, d := range claude(l) {
		if l.Project != "" && file.Within(d.path, l.Project) {
			continue
		}
		for _, v := range d.root.All("env", "*") {
			h := hit{path: d.path, line: v.Line, detail: "env." + v.Name}
			switch {
			case slices.Contains(bases, v.Name) && openHTTP(v.Str()):
				h.detail += " is not encrypted"
			case v.Name == "NODE_TLS_REJECT_UNAUTHORIZED" && (v.Text == "0"):
				h.detail += " = 0 takes any certificate"
			default:
				continue
			}
			hits = append(hits, h)
		}
	}
	return hits
}

// openHTTP reports whether a URL leads over a network in plain text.
func openHTTP(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "ws" {
		return false
	}
	switch h := u.Hostname(); {
	case h == "localhost", h == "::1", strings.HasPrefix(h, "127."), strings.HasSuffix(h, ".localhost"):
		return false
	}
	return true
}
