package policyimport

import (
	"strings"
	"unicode"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

const (
	noSuch   = "ringfence has no such setting"
	already  = "ringfence does this in any case"
	notList  = "it is not of the kind that the tool reads there"
	commands = "command lines are not judged by policy: the walls bound what they can do, and `ringfence hook` warns"
)

// claude judges one value of Claude Code's settings.
func (r *reader) claude() string {
	l := &r.leaf
	switch {
	case l.kind == empty:
		return "there is nothing in it"
	case l.under("permissions"):
		return r.permissions()
	case l.under("sandbox"):
		return r.claudeSandbox()
	case l.under("env") && len(l.path) == 2:
		return r.setEnv(l.path[1])
	case l.under("hooks"):
		return "hooks stay the agent's own; in a project they are held back until it is trusted"
	case l.under("mcpServers"), l.under("enabledMcpjsonServers"), l.under("disabledMcpjsonServers"), l.under("enableAllProjectMcpServers"):
		return "servers stay the agent's own; `ringfence mcp run` fences each"
	case l.is("apiKeyHelper"), l.under("awsAuthRefresh"), l.under("awsCredentialExport"):
		return "credentials stay outside: the broker uses them, see `ringfence secret`"
	}
	return noSuch
}

func (r *reader) permissions() string {
	l := &r.leaf
	if l.kind != text {
		return notList
	}
	switch {
	case l.is("permissions", "additionalDirectories"):
		return r.workspace(l.text)
	case l.is("permissions", "allow"):
		return r.rule(l.text, true)
	case l.is("permissions", "deny"):
		return r.rule(l.text, false)
	case l.is("permissions", "ask"):
		return "nobody is asked about tools here; an unknown host asks by itself"
	case l.is("permissions", "defaultMode"), l.is("permissions", "disableBypassPermissionsMode"):
		return "how the agent asks stays its own matter"
	}
	return noSuch
}

// workspace carries over a further directory to work in.
func (r *reader) workspace(p string) string {
	abs, glob := r.clean(p)
	if glob {
		return pattern
	}
	if why := r.refuse(abs, true); why != "" {
		return why
	}
	if dir, _ := stat(abs); !dir {
		return "it is no directory"
	}
	return r.put(&r.Policy.Workspace.Paths, "workspace", "paths", r.spell(abs))
}

// rule judges TOOL or TOOL(what).
func (r *reader) rule(s string, allow bool) string {
	tool, what, ok := strings.Cut(s, "(")
	what, closed := strings.CutSuffix(what, ")")
	if ok && !closed {
		return "it is no rule"
	}
	switch tool {
	case "Bash":
		return commands
	case "WebFetch":
		domain, found := strings.CutPrefix(what, "domain:")
		if !found {
			return "it names no domain"
		}
		return r.host(domain, !allow)
	case "Read", "Edit", "Write", "MultiEdit", "NotebookEdit":
		if what == "" {
			return "it names no path"
		}
		return r.ruleOf(tool == "Read", rulePath(what), allow)
	}
	return "a tool of the agent's: the walls bound what it can do"
}

func (r *reader) ruleOf(read bool, p string, allow bool) string {
	switch {
	case allow:
		return r.show(p, !read)
	case read && !strings.ContainsAny(p, "/~"): // a name alone is meant in every directory
		return r.put(&r.Policy.Workspace.Mask, "workspace", "mask", p)
	case read:
		return r.hide(p)
	}
	return r.fix(p)
}

// rulePath is how a rule writes a path: with two slashes it is one of the machine, with
// one it is the project's.
func rulePath(p string) string {
	if rest, ok := strings.CutPrefix(p, "//"); ok {
		return "/" + rest
	}
	if strings.HasPrefix(p, "/") {
		return "." + p
	}
	return p
}

func (r *reader) claudeSandbox() string {
	l := &r.leaf
	switch {
	case l.is("sandbox", "enabled"), l.is("sandbox", "failIfUnavailable"), l.is("sandbox", "autoAllowBashIfSandboxed"):
		return already
	case l.is("sandbox", "excludedCommands"), l.is("sandbox", "allowUnsandboxedCommands"):
		return "nothing runs outside the sandbox, whatever it is called"
	case l.under("sandbox", "network"), l.under("sandbox", "filesystem"):
		return r.sandboxPart(l.path[1:])
	}
	return noSuch
}

// sandboxPart is what Claude Code and srt have in common.
func (r *reader) sandboxPart(path []string) string {
	l := &r.leaf
	name := strings.Join(path, ".")
	lists := map[string]func(string) string{
		"network.allowedDomains": func(v string) string { return r.host(v, false) },
		"network.deniedDomains":  func(v string) string { return r.host(v, true) },
		"filesystem.allowWrite":  func(v string) string { return r.show(sandboxPath(v), true) },
		"filesystem.allowRead":   func(v string) string { return r.show(sandboxPath(v), false) },
		"filesystem.denyRead":    func(v string) string { return r.hide(sandboxPath(v)) },
		"filesystem.denyWrite":   func(v string) string { return r.fix(sandboxPath(v)) },
	}
	if name == "network.allowedDomains" {
		r.wholeList()
	}
	if do, ok := lists[name]; ok {
		if l.kind == empty && l.text == "[]" {
			return "there is nothing in it"
		}
		if l.kind != text {
			return notList
		}
		return do(l.text)
	}
	switch name {
	case "network.allowUnixSockets", "network.allowAllUnixSockets":
		return "no socket of the host comes inside"
	case "network.allowLocalBinding":
		return "programs inside may listen in any case, on a loopback of their own; --publish shows a port"
	case "network.httpProxyPort", "network.socksProxyPort":
		return "the gate is the proxy; [network] proxy names one behind it"
	case "network.allowManagedDomainsOnly":
		return "an administrator's bound is written in /etc/ringfence/policy.toml"
	}
	return noSuch
}

// sandboxPath is how sandbox settings write a path: two slashes are an old spelling.
func sandboxPath(p string) string {
	if strings.HasPrefix(p, "//") {
		return p[1:]
	}
	return p
}

// setEnv carries over a variable with its value.
func (r *reader) setEnv(name string) string {
	l := &r.leaf
	if e, known := knownsecrets.Env(name); known {
		return string(e.Class) + ": " + e.What + "; `ringfence secret set` keeps secrets"
	}
	if l.kind == null {
		return notList
	}
	if name == "PATH" {
		return "which programs are found is ringfence's to say"
	}
	if err := policy.Admit("env", "pass", name); err != nil {
		return err.Error()
	}
	if strings.ContainsFunc(l.text, unicode.IsControl) {
		return "its value holds control characters"
	}
	for _, s := range r.Policy.Env.Set {
		if s.Name == name {
			return "it is set already"
		}
	}
	r.Policy.Env.Set = append(r.Policy.Env.Set, policy.Setting{Name: name, Value: l.text, Source: r.source()})
	return ""
}
