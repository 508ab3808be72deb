package policyimport

import (
	"strings"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// codex judges one value of Codex' configuration.
func (r *reader) codex() string {
	l := &r.leaf
	switch {
	case l.kind == empty:
		return "there is nothing in it"
	case l.is("sandbox_mode"):
		return codexMode(l.text)
	case l.under("sandbox_workspace_write"):
		return r.codexWorkspace()
	case l.under("shell_environment_policy"):
		return r.codexEnv()
	case l.under("permissions"), l.is("default_permissions"):
		return "profiles of permissions are not read yet: write [files] and [network] by hand"
	case l.under("profiles"):
		return "a profile holds only when it is chosen; a policy always does"
	case l.is("approval_policy"), l.is("approvals_reviewer"):
		return "how the agent asks stays its own matter"
	case l.under("mcp_servers"):
		return "servers stay the agent's own; `ringfence mcp run` fences each"
	case l.under("projects"):
		return "trust in a project is given here by `ringfence trust`"
	}
	return noSuch
}

func codexMode(v string) string {
	switch v {
	case "workspace-write":
		return already
	case "read-only":
		return "run with --workspace .:ro; or let changes wait with --review"
	case "danger-full-access":
		return "there is no such mode here: who wants none runs the bare agent"
	}
	return noSuch
}

func (r *reader) codexWorkspace() string {
	l := &r.leaf
	switch {
	case l.is("sandbox_workspace_write", "writable_roots") && l.kind == text:
		return r.show(l.text, true)
	case l.is("sandbox_workspace_write", "network_access") && l.text == "false":
		r.Policy.Network.Mode = &policy.Rule{Value: "locked", Source: r.source()}
		return ""
	case l.is("sandbox_workspace_write", "network_access") && l.text == "true":
		return `what development needs is reached in any case; write [network] mode = "internet" if every host is meant`
	case l.is("sandbox_workspace_write", "exclude_tmpdir_env_var"), l.is("sandbox_workspace_write", "exclude_slash_tmp"):
		return "/tmp is private to each session"
	}
	return noSuch
}

func (r *reader) codexEnv() string {
	l := &r.leaf
	if l.under("shell_environment_policy", "set") && len(l.path) == 3 {
		return r.setEnv(l.path[2])
	}
	switch {
	case l.is("shell_environment_policy", "include_only") && l.kind == text:
		if strings.ContainsAny(l.text, "*?[") {
			return "a variable is passed by its name, not by a pattern"
		}
		if e, known := knownsecrets.Env(l.text); known {
			return string(e.Class) + ": " + e.What
		}
		return r.put(&r.Policy.Env.Pass, "env", "pass", l.text)
	case l.is("shell_environment_policy", "exclude"):
		return "nothing is passed that is not named"
	case l.is("shell_environment_policy", "inherit"):
		if l.text == "all" {
			return "variables are passed by name: [env] pass; `ringfence env` shows what stays outside"
		}
		return already
	case l.is("shell_environment_policy", "ignore_default_excludes"), l.is("shell_environment_policy", "experimental_use_profile"):
		return "nothing is passed that is not named"
	}
	return noSuch
}

// srt judges one value of the sandbox runtime's settings.
func (r *reader) srt() string {
	l := &r.leaf
	switch {
	case l.kind == empty:
		return "there is nothing in it"
	case len(l.path) == 2 && (l.under("network") || l.under("filesystem")):
		return r.sandboxPart(l.path)
	case l.under("ignoreViolations"), l.is("enableWeakerNestedSandbox"), l.is("enableWeakerNetworkIsolation"):
		return "no wall is weakened by a setting"
	}
	return noSuch
}
