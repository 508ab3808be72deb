package hostexec

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/injection"
)

// Test tells by the name and the value of a setting whether it is dangerous, or harmless.
type Test func(name string, v *node) bool

type node = settings.Node

// testOf finds a test by what hostexec.toml calls it, nil if there is none.
func testOf(name string) Test {
	if words, ok := strings.CutPrefix(name, "is "); ok {
		return is(strings.Split(words, ", "))
	}
	if word, ok := strings.CutPrefix(name, "says "); ok {
		return says(word)
	}
	return tests()[name]
}

var tests = sync.OnceValue(func() map[string]Test {
	return map[string]Test{
		// What is dangerous.
		"true": truth, "false": lie, "filled": filled, "bypasses": bypasses, "broad": broad, "broad tools": broadTools,
		"a broad permission": broadPermission, "it allows": saysAllow, "everything": everything, "outside": outside, "commands": commands,
		"an address": hasAddress, "opens the host": opensHost, "in the tree": runsInTree, "astray": astray, "dangerous": dangerous, "updates": updates,
		// What is harmless.
		"plain": plainValue, "bare": bareWord, "inside": inProject, "narrow": narrow, "without a shell": noShell,
	}
})

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

func says(want string) Test {
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
func unlike(names []string) Test {
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

func hasAddress(_ string, v *node) bool { return strings.Contains(v.Text, "://") }

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

// astray: a variable that loads code, or leads an agent elsewhere.
func astray(name string, _ *node) bool { return LeadsAstray(name) }

// dangerous is astray for a file of them, where a value may be a command too.
func dangerous(name string, v *node) bool { return EnvDanger(name, v.Text) != "" }

// updates: the variables that decide whether an agent replaces itself.
func updates(name string, _ *node) bool {
	name = strings.ToUpper(name)
	return name == "DISABLE_AUTOUPDATER" || name == "DISABLE_UPDATES" || file.Star("FORCE_AUTOUPDATE*", name)
}

// The rest tell what is harmless by its value.

func is(words []string) Test {
	return func(_ string, v *node) bool { return (v.Kind == '"' || v.Kind == 0) && slices.Contains(words, v.Text) }
}

func bareWord(_ string, v *node) bool { return v.Kind == 0 }

// plainValue: a bare word, or text in which nobody puts anything else.
func plainValue(_ string, v *node) bool { return v.Kind == 0 || plainText(v) }

// plainText: there is nothing in a text that people do not see.
func plainText(v *node) bool {
	return v.Kind == '"' && !strings.ContainsFunc(strings.ReplaceAll(v.Text, "\r\n", "\n"), func(r rune) bool {
		return r == utf8.RuneError || r != '\n' && r != '\t' && injection.Invisible(r)
	})
}

// inProject: a path in the project.
func inProject(_ string, v *node) bool { return plainText(v) && !outside("", v) && !hasAddress("", v) }

// narrow: a permission that is not broad.
func narrow(_ string, v *node) bool { return plainText(v) && !broad("", v) }

// noShell: the text of a command, in which opencode runs what stands in !`…`.
func noShell(_ string, v *node) bool { return plainText(v) && !strings.Contains(v.Text, "!`") }
