package policyimport

import (
	"path"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

const (
	inWorkspace = "it lies in the workspace, which the agent has in any case"
	pattern     = "a path here is no pattern: name what is meant"
	nothing     = "nothing is there now"
	hidden      = "nothing of it is shown unless a rule shows it"
)

// clean resolves ~/ and what is relative to the project, and takes a trailing /** or
// /* for the directory it speaks of.
func (r *reader) clean(p string) (abs string, glob bool) {
	for _, end := range []string{"/**", "/*", "/"} {
		p = strings.TrimSuffix(p, end)
	}
	switch {
	case p == "~" || p == "":
		p = r.at.Home + p[min(len(p), 1):]
	case strings.HasPrefix(p, "~/"):
		p = path.Join(r.at.Home, p[2:])
	case !path.IsAbs(p):
		p = path.Join(r.at.Dir, p)
	}
	return path.Clean(p), strings.ContainsAny(p, "*?[")
}

// spell writes a path as a policy would have it.
func (r *reader) spell(abs string) string {
	if abs != r.at.Home && file.Within(abs, r.at.Home) {
		return "~/" + abs[len(r.at.Home)+1:]
	}
	return abs
}

// show carries over that a path may be read, or written.
func (r *reader) show(p string, write bool) string {
	abs, glob := r.clean(p)
	switch {
	case glob:
		return pattern
	case file.Within(abs, r.at.Dir):
		return inWorkspace
	}
	if why := r.refuse(abs, write); why != "" {
		return why
	}
	if write {
		return r.put(&r.Policy.Files.Write, "files", "write", r.spell(abs))
	}
	return r.put(&r.Policy.Files.Read, "files", "read", r.spell(abs))
}

// refuse says why a path does not join the view by an import.
func (r *reader) refuse(abs string, write bool) string {
	switch {
	case file.Within(r.at.Home, abs) || file.Within(r.at.Dir, abs):
		return "too much lies in it: name what is needed"
	case file.Within(abs, "/tmp") && !file.Within(abs, r.at.Home):
		return "/tmp is private to each session"
	}
	for _, d := range []string{"/proc", "/sys", "/dev", "/run", "/boot"} {
		if file.Within(abs, d) {
			return d + " is the sandbox's own"
		}
	}
	for _, d := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"} {
		if write && file.Within(abs, d) {
			return "a directory of the system stays read-only"
		}
	}
	if write && file.Runs(abs, r.at.PATH) {
		return "what is written there can run on the host, unseen; if it must be: --rw"
	}
	if found := knownsecrets.Under(r.at.Home, abs, nil); len(found) > 0 {
		return "it holds credentials (" + found[0].Entry.What + "): --expose shows them on purpose"
	}
	if _, ok := stat(abs); !ok {
		return nothing
	}
	return ""
}

// hide carries over that a path may not be read. A pattern of names in the workspace
// becomes one of files that show phantoms.
func (r *reader) hide(p string) string {
	if glob := strings.TrimPrefix(strings.TrimPrefix(p, "./"), "**/"); strings.ContainsAny(glob, "*?[") && !strings.HasSuffix(glob, "/**") && !path.IsAbs(p) && !strings.HasPrefix(p, "~") {
		return r.put(&r.Policy.Workspace.Mask, "workspace", "mask", glob)
	}
	abs, glob := r.clean(p)
	switch {
	case glob:
		return pattern
	case file.Within(r.at.Dir, abs):
		return "it would hide the workspace itself; nothing else of it is shown"
	case file.Within(abs, r.at.Dir):
		return r.put(&r.Policy.Files.Mask, "files", "mask", strings.TrimPrefix(abs[len(r.at.Dir):], "/"))
	}
	return r.put(&r.Policy.Files.Mask, "files", "mask", r.spell(abs))
}

// fix carries over that a path may not be written.
func (r *reader) fix(p string) string {
	abs, glob := r.clean(p)
	switch {
	case glob:
		return pattern
	case !file.Within(abs, r.at.Dir):
		return "nothing outside the workspace can be written unless a rule says so"
	case abs == r.at.Dir:
		return "the workspace itself: run with --workspace .:ro, or --review"
	}
	if _, ok := stat(abs); !ok {
		return nothing
	}
	return r.put(&r.Policy.Files.Read, "files", "read", r.spell(abs))
}

// host carries over a host that may, or may not, be reached.
// wholeList: what the settings allow there is all that is reached there. In mode dev it
// would be an addition to registries and forges.
func (r *reader) wholeList() {
	if r.Policy.Network.Mode == nil {
		r.Policy.Network.Mode = &policy.Rule{Value: "locked", Source: r.source()}
		r.Changed = append(r.Changed, `allowedDomains is the whole list: mode = "locked" reaches it and the model, and nothing else`)
	}
}

func (r *reader) host(h string, deny bool) string {
	switch {
	case h == "*" && deny:
		return `every host: write [network] mode = "locked", or "none"`
	case h == "*":
		return `every host: write [network] mode = "internet" if that is meant`
	case h == "localhost" || strings.HasPrefix(h, "127.") || strings.HasPrefix(h, "[::1]") || strings.HasPrefix(h, "localhost:"):
		return "the sandbox has a loopback of its own; --host-port reaches a port of the host"
	}
	if deny {
		return r.put(&r.Policy.Network.Deny, "network", "deny", h)
	}
	if g := denied(h); g != "" {
		return "the group " + g + " denies it"
	}
	return r.put(&r.Policy.Network.Allow, "network", "allow", h)
}

// denied names the built-in group that denies all that a rule would allow.
func denied(h string) string {
	rule, err := address.ParseRule(h)
	if err != nil {
		return ""
	}
	for _, g := range policy.Groups() {
		for _, text := range g.Hosts {
			if deny, err := address.ParseRule(text); err == nil && g.Deny && (deny.Covers(rule.Name) || deny.Below && deny.Name == rule.Name) {
				return g.Name
			}
		}
	}
	return ""
}
