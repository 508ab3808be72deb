package scan

import (
	"slices"
	"strings"
)

// These tell by the value whether a setting is dangerous.

func truth(_ string, v *node) bool {
	return v.Kind == 0 && v.Text == "true" || v.Kind == '"' && slices.Contains([]string{"true", "1", "yes", "on", "always"}, strings.ToLower(v.Text))
}

func lie(_ string, v *node) bool {
	return v.Kind == 0 && (v.Text == "false" || v.Text == "0") || v.Kind == '"' && slices.Contains([]string{"false", "0", "no", "off"}, strings.ToLower(v.Text))
}

// filled: there is something.
func filled(_ string, v *node) bool {
	switch v.Kind {
	case '{':
		return len(v.Members()) > 0
	case '[':
		return len(v.Items()) > 0
	}
	return v.Text != "" && v.Text != "null" && v.Text != "false"
}

func word(want string) func(string, *node) bool {
	return func(_ string, v *node) bool { return strings.EqualFold(strings.TrimSpace(v.Text), want) }
}

func bypasses(_ string, v *node) bool {
	return slices.Contains([]string{"bypasspermissions", "dontask", "auto", "yolo", "never", "danger-full-access", "auto_edit", "acceptedits", "full-auto"},
		strings.ToLower(strings.TrimSpace(v.Text)))
}

// broad: a permission for everything, or for what runs everything.
func broad(_ string, v *node) bool {
	if v.Kind != '"' {
		return true
	}
	text := strings.ToLower(strings.Join(strings.Fields(v.Text), ""))
	switch text {
	case "*", "bash", "bash(*)", "bash(:*)", "bash(**)", "shell", "shell(*)", "run_shell_command", "run_shell_command(*)", "mcp__*", "edit(*)", "write(*)",
		"edit", "write", "multiedit", "edit(/**)", "write(/**)", "edit(**)", "write(**)",
		"edit(//**)", "write(//**)", "read(//**)", "read(~/**)", "webfetch", "webfetch(*)", "execute", "powershell":
		return true
	}
	for _, tool := range []string{"bash(", "shell(", "run_shell_command("} {
		if rest, ok := strings.CutPrefix(text, tool); ok {
			rest = strings.TrimRight(strings.TrimSuffix(rest, ")"), ":*")
			return rest == "" || strings.HasPrefix(rest, "*") || strings.HasPrefix(rest, "xargs") || slices.Contains([]string{"python", "python3", "node", "perl", "ruby", "php", "deno", "bun", "npx", "bunx", "uvx", "pipx", "npmexec",
				"sh", "bash", "zsh", "sudo", "eval", "curl", "wget", "env", "sh-c", "bash-c", "python-c", "python3-c", "node-e", "ssh", "nc", "xargs"}, rest)
		}
	}
	return strings.HasPrefix(text, "read(~/.ssh") || strings.HasPrefix(text, "read(~/.aws") || strings.HasPrefix(text, "read(~/.gnupg")
}

// broadTools: a list of permissions, in a line or a block, of which one is broad.
func broadTools(_ string, v *node) bool {
	words := strings.FieldsFunc(v.Text, func(r rune) bool { return strings.ContainsRune(",[]\"'", r) || r == '\n' })
	return slices.ContainsFunc(words, func(w string) bool {
		w = strings.TrimPrefix(strings.TrimSpace(w), "- ")
		return !slices.Contains([]string{"Edit", "Write", "MultiEdit", "WebFetch"}, strings.TrimSpace(w)) && broad("", &node{Kind: '"', Text: w})
	})
}

// unlike: a setting of none of these names.
func unlike(names ...string) func(string, *node) bool {
	return func(name string, _ *node) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
}

// broadPermission: opencode writes what it may do as a word for a tool.
func broadPermission(name string, v *node) bool {
	if v.Kind == '{' {
		return slices.ContainsFunc(v.Members(), func(m *node) bool { return m.Name == "*" && m.Text == "allow" })
	}
	risky := slices.Contains([]string{"permission", "bash", "*", "external_directory", "doom_loop", "webfetch"}, strings.ToLower(name))
	return risky && strings.EqualFold(v.Text, "allow")
}

// saysAllow: a block of permissions in which something is allowed, or may be.
func saysAllow(_ string, v *node) bool {
	return strings.Contains(strings.ToLower(v.Text), "allow") || strings.ContainsAny(v.Text, "\\&*!")
}

func everything(_ string, v *node) bool { return v.Text == "*" || v.Text == "**" }

// outside: a directory that is not in the project, by its text.
func outside(_ string, v *node) bool {
	text := strings.TrimSpace(v.Text)
	return v.Kind != '"' || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasPrefix(text, "$") || slices.Contains(strings.Split(text, "/"), "..")
}

// commands: a value that names a program, or has one among its members.
func commands(_ string, v *node) bool {
	if v.Kind != '{' {
		return filled("", v) && v.Text != "true"
	}
	return slices.ContainsFunc(v.Members(), func(m *node) bool {
		return slices.Contains([]string{"command", "env", "args"}, strings.ToLower(m.Name)) && filled("", m)
	})
}

func address(_ string, v *node) bool { return strings.Contains(v.Text, "://") }

// opensHost: a mount or argument that gives a container the host.
func opensHost(_ string, v *node) bool {
	text := strings.ToLower(v.Text)
	for _, bad := range []string{"docker.sock", "podman.sock", "containerd.sock", "--privileged", "--pid=host", "--network=host", "--net=host", "--cap-add=all", "--cap-add=sys_admin",
		"seccomp=unconfined", "apparmor=unconfined", "/.ssh", "/.aws", "/.gnupg", "/.kube", "/.config/gcloud", "/.claude", "/.codex", "/.docker"} {
		if strings.Contains(text, bad) {
			return true
		}
	}
	for part := range strings.SplitSeq(text, ",") {
		for _, name := range []string{"source=", "src=", "--volume=", "-v="} {
			part = strings.TrimPrefix(part, name)
		}
		from, _, bound := strings.Cut(part, ":/")
		home := strings.TrimSuffix(from, "/")
		if bound && home == "" || slices.Contains([]string{"${localenv:home}", "${localenv:home}${localenv:userprofile}", "~", "$home", "/root", "/home", "/etc", "/var/run"}, home) {
			return true
		}
	}
	return false
}

// runsInTree: the value is a file of the folder that may be a program.
func runsInTree(_ string, v *node) bool {
	if v.Kind != '"' {
		return false
	}
	text := strings.TrimRight(strings.ToLower(v.Text), "/") // some find the program in a directory
	if strings.Contains(text, "/.venv/") || strings.Contains(text, "/venv/") || strings.Contains(text, "node_modules/") {
		return false
	}
	for _, here := range []string{"./", "../", "${workspacefolder", "${workspaceroot", "${filedirname", ".vscode/", "/tmp/", "/dev/shm/", "/var/tmp/"} {
		if strings.HasPrefix(text, here) {
			last := text[strings.LastIndexByte(text, '/')+1:]
			return !strings.Contains(last, ".json") && !strings.Contains(last, ".toml") && !strings.Contains(last, ".yml") && !strings.Contains(last, ".yaml") &&
				last != "" && !strings.HasSuffix(text, "/lib")
		}
	}
	return false
}
