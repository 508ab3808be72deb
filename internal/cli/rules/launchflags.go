package rules

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session"
)

// Flags are the flags of everything that prepares a session.
type Flags struct {
	Set                              *command.FlagSet
	home                             string
	workspaces, ro, rw, mask, expose words
	review, live, clone              bool
	reveal                           words
	env, forceEnv                    words
	net, proxy                       string
	allowHost, denyHost, allowIP     words
	publish, hostPort                words
	minAge                           string
	mcp                              words
	installScripts                   bool
	allowPackage                     words
	pids                             int64
	memory                           string
	Yes, NoInput, Verbose            bool
	Name                             string
	Keep, Detach                     bool
	DryRun                           DryRun
}

// words is a flag that may be given several times.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Set(s string) error { *w = append(*w, s); return nil }

// DryRun is a flag with an optional value.
type DryRun string

func (d *DryRun) String() string { return string(*d) }

func (d *DryRun) IsBoolFlag() bool { return true }

func (d *DryRun) Set(s string) error {
	switch s {
	case "true", "text":
		*d = "text"
	case "json", "bwrap":
		*d = DryRun(s)
	default:
		return fmt.Errorf("%q is not one of text, json, bwrap", s)
	}
	return nil
}

func NewFlags(cmd *command.Command) *Flags {
	f := &cmd.Flags
	l := &Flags{Set: f}
	f.Begin("for files")
	f.Var(&l.workspaces, "workspace", "work in `PATH[:ro]`; may be repeated (default: the repository or directory you are in)")
	f.Var(&l.ro, "ro", "show `PATH` read-only")
	f.Var(&l.rw, "rw", "show `PATH` read-write")
	f.Var(&l.mask, "mask", "hide `PATH` of the workspace")
	f.Var(&l.expose, "expose", "let a granted path show the credentials at `PATH`")
	f.Var(&l.reveal, "reveal", "show `PATH` of the workspace as it is, although it holds secrets; may be a glob")
	f.BoolVar(&l.review, "review", false, "keep changes from the host until they are applied after the session")
	f.BoolVar(&l.live, "live", false, "let changes reach the host at once, where the user's own policy says review")
	f.BoolVar(&l.clone, "clone", false, "work in a clone of the repository, of which the host fetches")
	f.Begin("for the environment")
	f.Var(&l.env, "env", "pass a variable, or set it: `NAME[=VALUE]`")
	f.Var(&l.forceEnv, "force-env", "pass `NAME` although it is refused by default")
	f.Begin("for the network")
	f.StringVar(&l.net, "net", "", "the network: none, locked, dev or internet, and groups to switch, as in `dev,+rust,-docs`")
	f.Var(&l.allowHost, "allow-host", "let `HOST[:PORT]` be reached, such as api.example.org or *.example.org:8443")
	f.Var(&l.denyHost, "deny-host", "never let `HOST[:PORT]` be reached")
	f.Var(&l.allowIP, "allow-ip", "let the address or range `CIDR:PORT` be reached, an internal one too")
	f.Var(&l.publish, "publish", "show port `[HOST:]PORT` of a server inside on the host's loopback")
	f.Var(&l.hostPort, "host-port", "let port `N` of the host's loopback be reached at the same number")
	f.StringVar(&l.proxy, "proxy", "", "go out through a proxy: `URL`, or env for HTTPS_PROXY")
	f.Begin("for packages and tools")
	f.StringVar(&l.minAge, "min-release-age", "", "install packages only when their release is `AGE` old, such as 3d or 72h; 0 for no wait")
	f.BoolVar(&l.installScripts, "install-scripts", false, "let packages run scripts when they are installed")
	f.Var(&l.allowPackage, "allow-package", "exempt the package `NAME`, npm:NAME or pypi:NAME; * may stand at its end")
	f.Var(&l.mcp, "mcp", "let the agent start the MCP server `NAME` of its settings on the host, in a sandbox of its own")
	f.Begin("for limits")
	f.Int64Var(&l.pids, "pids", 0, "allow at most `N` processes and threads")
	f.StringVar(&l.memory, "memory", "", "allow at most `SIZE` of memory, such as 4GiB")
	return l
}

// Interactive are the flags of what a person starts.
func (l *Flags) Interactive() {
	f := l.Set
	f.BoolVar(&l.Verbose, "verbose", false, "say without a terminal what one would be told")
	f.BoolVar(&l.Yes, "yes", false, "do not pause before the start")
	f.BoolVar(&l.NoInput, "no-input", false, "never ask anything")
}

// Options turns flags into what the user asked for.
func (l *Flags) Options(c *command.Console, agentName string, args []string) (session.Options, error) {
	l.home = c.Getenv("HOME")
	p, err := l.policy()
	if err != nil {
		return session.Options{}, err
	}
	for i, w := range l.workspaces {
		if l.workspaces[i], err = l.absolute(w); err != nil {
			return session.Options{}, fault.New(fault.Usage, "", "--workspace: %w", err)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return session.Options{}, fault.New(fault.Failed, "change to a directory that exists", "current directory: %w", err)
	}
	return session.Options{Agent: agentName, Args: args, Dir: dir, Workspaces: l.workspaces, Clone: l.clone, Flags: p,
		Env: l.env, ForceEnv: l.forceEnv, Environ: c.Environ, Version: command.VersionText(), Name: l.Name, Keep: c.Kept != nil}, nil
}

// policy is the layer that the flags make.
func (l *Flags) policy() (*policy.Policy, error) {
	p := &policy.Policy{}
	for _, f := range []struct {
		flag   string
		values words
		list   *policy.List
	}{{"ro", l.ro, &p.Files.Read}, {"rw", l.rw, &p.Files.Write}, {"expose", l.expose, &p.Files.Expose}} {
		for _, v := range f.values {
			abs, err := l.absolute(v)
			if err != nil {
				return nil, fault.New(fault.Usage, "", "--%s: %w", f.flag, err)
			}
			*f.list = append(*f.list, policy.Rule{Value: abs, Source: flagSource(f.flag)})
		}
	}
	for _, v := range l.mask {
		if v == "" || filepath.Clean(v) == "." || !strings.HasPrefix(v, "~/") && !filepath.IsAbs(v) && !filepath.IsLocal(v) {
			return nil, fault.New(fault.Usage, "name a path of the workspace", "--mask: %q is not a path in the workspace", v)
		}
		if strings.ContainsAny(v, "*?[") {
			return nil, fault.New(fault.Usage, "name each path; ringfence never walks a tree", "--mask: %q looks like a pattern", v)
		}
		if strings.HasPrefix(v, "~/") {
			v = filepath.Join(l.home, v[2:])
		}
		p.Files.Mask = append(p.Files.Mask, policy.Rule{Value: filepath.Clean(v), Source: flagSource("mask")})
	}
	for _, part := range []func(*policy.Policy) error{l.network, l.workspace, l.supply, l.servers} {
		if err := part(p); err != nil {
			return nil, err
		}
	}
	if l.Set.IsSet("pids") {
		p.Limits.Pids = &policy.Limit{Value: l.pids, Source: flagSource("pids")}
	}
	if l.Set.IsSet("memory") {
		n, err := policy.ParseSize(l.memory)
		if err != nil {
			return nil, fault.New(fault.Usage, "write a size as 512MiB or 4GiB", "--memory: %w", err)
		}
		p.Limits.Memory = &policy.Limit{Value: n, Source: flagSource("memory")}
	}
	return p, nil
}

// workspace is what the flags say of how the workspace is shown.
func (l *Flags) workspace(p *policy.Policy) error {
	view := func(v string) { p.Workspace.View = &policy.Rule{Value: v, Source: flagSource(v)} }
	switch {
	case l.review && l.live:
		return fault.New(fault.Usage, "leave one of them out", "--review and --live contradict each other")
	case l.review:
		view(policy.Review)
	case l.live:
		view(policy.Live)
	}
	for _, v := range l.reveal {
		abs, err := l.absolute(v)
		if err == nil {
			err = policy.Admit("workspace", "reveal", abs)
		}
		if err != nil {
			return fault.New(fault.Usage, "", "--reveal: %w", err)
		}
		p.Workspace.Reveal = append(p.Workspace.Reveal, policy.Rule{Value: abs, Source: flagSource("reveal")})
	}
	return nil
}

// supply is what the flags say of packages.
func (l *Flags) supply(p *policy.Policy) error {
	if err := l.admitOne("supply", "age", "min-release-age", l.minAge, &p.Supply.Age); err != nil {
		return err
	}
	if l.Set.IsSet("install-scripts") {
		p.Supply.Scripts = &policy.Flag{Value: l.installScripts, Source: flagSource("install-scripts")}
	}
	return admit("supply", "allow", "allow-package", l.allowPackage, &p.Supply.Allow)
}

// admit adds the values of a flag to a list, held to the same grammar as a file.
func admit(section, key, flag string, values []string, list *policy.List) error {
	for _, v := range values {
		if err := policy.Admit(section, key, v); err != nil {
			return fault.New(fault.Usage, "", "--%s: %w", flag, err)
		}
		*list = append(*list, policy.Rule{Value: v, Source: flagSource(flag)})
	}
	return nil
}

// admitOne is admit for a flag with one value.
func (l *Flags) admitOne(section, key, flag, value string, to **policy.Rule) error {
	if !l.Set.IsSet(flag) {
		return nil
	}
	*to = &policy.Rule{Value: value, Source: flagSource(flag)}
	return admit(section, key, flag, []string{value}, &policy.List{})
}

// servers are the MCP servers that the flags name.
func (l *Flags) servers(p *policy.Policy) error {
	for _, v := range l.mcp {
		if err := policy.CheckServerName(v); err != nil {
			return fault.New(fault.Usage, "ringfence mcp ls lists them", "--mcp: %w", err)
		}
		if p.FindServer(v) == nil {
			p.MCP = append(p.MCP, policy.Server{Name: v, Source: flagSource("mcp")})
		}
	}
	return nil
}

func flagSource(flag string) policy.Source { return policy.Source{File: "flag --" + flag} }

// network is what the flags say of the network.
func (l *Flags) network(p *policy.Policy) error {
	if l.Set.IsSet("net") {
		mode, groups, err := policy.ParseNet(l.net)
		if err != nil {
			return fault.New(fault.Usage, "ringfence policy groups lists them", "%w", err)
		}
		if mode != "" {
			p.Network.Mode = &policy.Rule{Value: mode, Source: flagSource("net")}
		}
		for _, g := range groups {
			p.Network.Groups = append(p.Network.Groups, policy.Rule{Value: g, Source: flagSource("net")})
		}
	}
	for _, f := range []struct {
		flag, key string
		values    words
		list      *policy.List
	}{
		{"allow-host", "allow", l.allowHost, &p.Network.Allow}, {"deny-host", "deny", l.denyHost, &p.Network.Deny}, {"allow-ip", "ip", l.allowIP, &p.Network.IP},
		{"publish", "publish", l.publish, &p.Network.Publish}, {"host-port", "host-ports", l.hostPort, &p.Network.HostPorts},
	} {
		if err := admit("network", f.key, f.flag, f.values, f.list); err != nil {
			return err
		}
	}
	if err := l.admitOne("network", "proxy", "proxy", l.proxy, &p.Network.Proxy); err != nil {
		return err
	}
	if m := p.Network.Mode; m != nil && m.Value == "none" && len(p.Network.Allow)+len(p.Network.IP)+len(p.Network.Publish)+len(p.Network.HostPorts) > 0 {
		return fault.New(fault.Usage, "leave --net none out, or the other flag", "--net none closes the network, and another flag opens some of it")
	}
	return nil
}

// absolute reads a path of a flag. A "~/" that the shell left, as in --ro=~/x, is
// the user's home as it is in a policy file.
func (l *Flags) absolute(p string) (string, error) {
	if p == "" {
		return "", errors.New("the path is empty")
	}
	if rel, ok := strings.CutPrefix(p, "~/"); ok && l.home != "" {
		return filepath.Join(l.home, rel), nil
	}
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", fmt.Errorf("%q: %w", p, err)
	}
	return abs, nil
}

// lookAt is what a launch in a directory would be, whatever the project itself asks for.
func lookAt(c *command.Console, dir string) (*session.Session, error) {
	return session.Look(session.Options{Agent: agent.Command, Dir: dir, Environ: c.Environ, Flags: &policy.Policy{}, NoProject: true})
}

// lookHere is lookAt the directory that we are in.
func lookHere(c *command.Console) (*session.Session, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return lookAt(c, dir)
}

// Agents are the agents that we know and those of the user.
func Agents(c *command.Console) ([]string, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	return agent.Names(filepath.Join(dirs.Config, "agents"))
}
