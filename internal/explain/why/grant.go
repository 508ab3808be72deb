package why

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
)

// Grant is what would allow an access: by words of a command line, or by lines of a
// policy file. It was tried: a launch with it would allow the access.
type Grant struct {
	Flags  []string `json:"flags,omitempty"`  // for a launch; none: only policy can say it
	Policy string   `json:"policy,omitempty"` // TOML, for the user's policy.toml; "": no file can say it
	Live   string   `json:"live,omitempty"`   // for a session that runs
	Also   []string `json:"also"`             // what else it would allow

	Layer         *policy.Policy `json:"-"`
	Env, ForceEnv []string       `json:"-"`
}

// granted is a rule of a grant.
func granted(values ...string) policy.List {
	var out policy.List
	for _, v := range values {
		out = append(out, policy.Rule{Value: v, Source: policy.Source{File: "grant"}})
	}
	return out
}

// row is how one key of policy is said by a flag and in a file.
type row struct {
	flag, section, key string
	values             []string
	bare               bool // numbers, without quotes
}

// rows are the parts of a grant.
func (g *Grant) rows() []row {
	p := g.Layer
	if p == nil {
		p = &policy.Policy{}
	}
	var net []string
	if p.Network.Mode != nil {
		net = []string{p.Network.Mode.Value}
	}
	return []row{
		{flag: "--ro", section: "files", key: "read", values: p.Files.Read.Values()},
		{flag: "--rw", section: "files", key: "write", values: p.Files.Write.Values()},
		{flag: "--expose", section: "files", key: "expose", values: p.Files.Expose.Values()},
		{flag: "--reveal", section: "workspace", key: "reveal", values: p.Workspace.Reveal.Values()},
		{flag: "--net", section: "network", key: "mode", values: net},
		{flag: "--net", section: "network", key: "groups", values: p.Network.Groups.Values()},
		{flag: "--allow-host", section: "network", key: "allow", values: p.Network.Allow.Values()},
		{flag: "--allow-ip", section: "network", key: "ip", values: p.Network.IP.Values()},
		{flag: "--host-port", section: "network", key: "host-ports", values: p.Network.HostPorts.Values(), bare: true},
		{flag: "--env", section: "env", key: "pass", values: g.Env},
		{flag: "--force-env", section: "env", key: "force", values: g.ForceEnv},
		{section: "broker", key: "git", values: p.Broker.Git.Values()},
	}
}

// spell writes a grant as flags and as lines of a file.
func (g *Grant) spell(home string) {
	var lines []string
	section, file := "", true
	g.Flags = nil
	for _, r := range g.rows() {
		if len(r.values) == 0 {
			continue
		}
		for _, v := range r.values {
			if r.flag != "" {
				g.Flags = append(g.Flags, r.flag, v)
			}
		}
		if section != r.section {
			section = r.section
			lines = append(lines, "["+section+"]")
		}
		if r.key == "force" && len(g.Env) == 0 { // a file says both
			lines = append(lines, "pass = "+list(g.ForceEnv, false))
		}
		var inFile []string
		for _, v := range r.values {
			v = short(v, home, r.section == "files" || r.key == "reveal")
			file = file && policy.Admit(r.section, r.key, v) == nil
			inFile = append(inFile, v)
		}
		if r.key == "mode" {
			lines = append(lines, "mode = "+quote(inFile[0]))
			continue
		}
		lines = append(lines, r.key+" = "+list(inFile, r.bare))
	}
	if g.Policy = strings.Join(lines, "\n") + "\n"; !file {
		g.Policy = ""
	}
}

// short writes a path in HOME with ~/.
func short(v, home string, path bool) string {
	if path && v != home && file.Within(v, home) {
		return "~" + v[len(home):]
	}
	return v
}

func list(values []string, bare bool) string {
	var out []string
	for _, v := range values {
		if !bare {
			v = quote(v)
		}
		out = append(out, v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// quote writes a string of TOML; what no file could hold is not asked for.
func quote(s string) string {
	if strconv.CanBackquote(s) && !strings.ContainsAny(s, `"\`) {
		return `"` + s + `"`
	}
	return strings.NewReplacer(`\a`, `\u0007`, `\v`, `\u000B`, `\x7f`, `\u007F`).Replace(strconv.Quote(s))
}

// try offers a grant if the access would be allowed with it, and returns the world in
// which it is; where it would not, the finding says why. tried is such a world that
// was prepared already.
func (w *World) try(f *Finding, ask func(*World) *Finding, tried *World, g Grant) *World {
	if w.With == nil {
		return nil
	}
	if tried == nil {
		var err error
		if tried, err = w.With(g); err != nil {
			f.Help = "no grant helps: " + err.Error()
			return nil
		}
	}
	now := ask(tried)
	if now.Verdict == f.Verdict || now.Verdict == Denied || now.Verdict == Absent {
		f.Help = fmt.Sprintf("no grant helps: with one it would still be %s (%s)", now.Verdict, now.By)
		return nil
	}
	g.spell(w.User.Home)
	if now.Verdict == Held {
		g.Also = append(g.Also, "changes would wait for review: "+now.Reason)
	}
	f.Grant = &g
	return tried
}

// asked finds what an untrusted project file asks for in vain.
func (w *World) asked(section string, keys []string, value string) (policy.Change, bool) {
	i := slices.IndexFunc(w.Ignored, func(c policy.Change) bool {
		return c.Section == section && slices.Contains(keys, c.Key) &&
			(c.Value == value || policy.Expand(c.Value, w.User.Home) == value)
	})
	if i < 0 {
		return policy.Change{}, false
	}
	return w.Ignored[i], true
}
