package rules

import (
	"cmp"
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
	"ringfence.dev/ringfence/internal/session/launch"
)

// Flags are the flags of everything that prepares a session.
type Flags struct {
	Set                   *command.FlagSet
	home                  string
	rules                 []*ruleFlag
	workspaces, mask, mcp words
	review, live, clone   bool
	env, forceEnv         words
	net                   string
	installScripts        bool
	pids                  int64
	rung, image, task     string
	accel                 string
	memory                string
	Yes, NoInput, Verbose bool
	Summary               string
	Name                  string
	Keep, Detach          bool
	DryRun                DryRun
}

// ruleFlag is a flag whose values stand under a key of the policy.
type ruleFlag struct {
	words
	flag, section, key string
	path               bool // its values are paths as a shell has them
}

// rule declares a flag whose values are held to the same grammar as a file.
func (l *Flags) rule(flag, section, key, about string) *ruleFlag {
	r := &ruleFlag{flag: flag, section: section, key: key}
	l.rules = append(l.rules, r)
	l.Set.Var(&r.words, flag, about)
	return r
}

// add puts a value into the policy.
func (r *ruleFlag) add(p *policy.Policy, l *Flags, value string) (err error) {
	if r.path {
		value, err = l.absolute(value)
	}
	if err == nil && r.section != "files" { // there a flag may name what a file could not
		err = policy.Admit(r.section, r.key, value)
	}
	if err == nil {
		err = p.Add(r.section, r.key, policy.Rule{Value: value, Source: flagSource(r.flag)})
	}
	if err != nil {
		return fault.New(fault.Usage, "", "--%s: %w", r.flag, err)
	}
	return nil
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

// NewFlags declares them, in groups.
func NewFlags(cmd *command.Command) *Flags {
	f := &cmd.Flags
	l := &Flags{Set: f}
	f.Begin("for the task")
	f.StringVar(&l.task, "for", "", "what you are about to do: `POSTURE`, such as research or untrusted-repo; ringfence postures lists them")
	f.Begin("for files")
	f.Var(&l.workspaces, "workspace", "work in `PATH[:ro]`; may be repeated (default: the repository or directory you are in)")
	l.rule("ro", "files", "read", "show `PATH` read-only").path = true
	l.rule("rw", "files", "write", "show `PATH` read-write").path = true
	f.Var(&l.mask, "mask", "hide `PATH` of the workspace")
	l.rule("expose", "files", "expose", "let a granted path show the credentials at `PATH`").path = true
	l.rule("reveal", "workspace", "reveal", "show `PATH` of the workspace as it is, although it holds secrets; may be a glob").path = true
	f.BoolVar(&l.review, "review", false, "keep changes from the host until they are applied after the session")
	f.BoolVar(&l.live, "live", false, "let changes reach the host at once, where the user's own policy says review")
	f.BoolVar(&l.clone, "clone", false, "work in a clone of the repository, of which the host fetches")
	f.Begin("for the environment")
	f.Var(&l.env, "env", "pass a variable, or set it: `NAME[=VALUE]`")
	f.Var(&l.forceEnv, "force-env", "pass `NAME` although it is refused by default")
	f.Begin("for the network")
	f.StringVar(&l.net, "net", "", "the network: none, locked, dev, internet or open, and groups to switch, as in `dev,+rust,-docs`")
	l.rule("allow-host", "network", "allow", "let `HOST[:PORT]` be reached, such as api.example.org or *.example.org:8443")
	l.rule("deny-host", "network", "deny", "never let `HOST[:PORT]` be reached")
	l.rule("allow-ip", "network", "ip", "let the address or range `CIDR:PORT` be reached, an internal one too")
	l.rule("publish", "network", "publish", "show port `[HOST:]PORT` of a server inside on the host's loopback")
	l.rule("host-port", "network", "host-ports", "let port `N` of the host's loopback be reached at the same number")
	l.rule("proxy", "network", "proxy", "go out through a proxy: `URL`, or env for HTTPS_PROXY")
	l.rule("on-hit", "scan", "on-hit", "`warn` or tighten, when a tool returns text that tries to give orders")
	f.Begin("for packages and tools")
	l.rule("min-release-age", "supply", "age", "install packages only when their release is `AGE` old, such as 3d or 72h; 0 for no wait")
	f.BoolVar(&l.installScripts, "install-scripts", false, "let packages run scripts when they are installed")
	l.rule("allow-package", "supply", "allow", "exempt the package `NAME`, npm:NAME, pypi:NAME, crates:NAME or go:PATH; * may stand at its end")
	f.Var(&l.mcp, "mcp", "let the agent start the MCP server `NAME` of its settings on the host, in a sandbox of its own")
	f.Begin("for walls and limits")
	f.StringVar(&l.accel, "accel", "", "what makes the processor of a virtual machine: `kvm|tcg`")
	f.StringVar(&l.image, "image", "", "run in a container with the programs of the image `NAME[@DIGEST]`")
	f.StringVar(&l.rung, "rung", "", "raise the walls on the rung `NAME`; ringfence rungs lists them")
	f.Int64Var(&l.pids, "pids", 0, "allow at most `N` processes and threads")
	f.StringVar(&l.memory, "memory", "", "allow at most `SIZE` of memory, such as 4GiB")
	return l
}

// Interactive are the flags of what a person starts.
func (l *Flags) Interactive() {
	f := l.Set
	f.BoolVar(&l.Verbose, "verbose", false, "tell everything at the start and at the end, also without a terminal")
	f.BoolVar(&l.Yes, "yes", false, "do not pause before the start")
	f.BoolVar(&l.NoInput, "no-input", false, "never ask anything, and tell nothing at the end")
}

// Options turns flags into what the user asked for.
func (l *Flags) Options(c *command.Console, agentName string, args []string) (launch.Options, error) {
	l.home = c.Getenv("HOME")
	p, err := l.policy()
	if err != nil {
		return launch.Options{}, err
	}
	for i, w := range l.workspaces {
		if l.workspaces[i], err = l.absolute(w); err != nil {
			return launch.Options{}, fault.New(fault.Usage, "", "--workspace: %w", err)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return launch.Options{}, fault.New(fault.Failed, "change to a directory that exists", "current directory: %w", err)
	}
	return launch.Options{Agent: agentName, Args: args, Dir: dir, Workspaces: l.workspaces, Clone: l.clone, Flags: p,
		Env: l.env, ForceEnv: l.forceEnv, Environ: c.Environ, Version: command.VersionText(), Name: l.Name, Keep: c.Kept != nil}, nil
}

// policy is the layer that the flags make.
func (l *Flags) policy() (*policy.Policy, error) {
	p := &policy.Policy{}
	for _, r := range l.rules {
		for _, v := range r.words {
			if err := r.add(p, l, v); err != nil {
				return nil, err
			}
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
	high, err := policy.UseRung(l.rung, l.image, l.accel)
	if err != nil {
		return nil, err
	}
	p.Rung = high.Rung
	task, err := policy.For(l.task)
	if err != nil {
		return nil, fault.New(fault.Usage, cmp.Or(fault.HintOf(err), "ringfence postures lists them"), "--for: %w", err)
	}
	p.Project = task.Project
	for _, part := range []func(*policy.Policy) error{l.network, l.workspace, l.servers} {
		if err := part(p); err != nil {
			return nil, err
		}
	}
	if l.Set.IsSet("install-scripts") {
		p.Supply.Scripts = &policy.Flag{Value: l.installScripts, Source: flagSource("install-scripts")}
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
	return nil
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
			return fault.New(fault.Usage, cmp.Or(fault.HintOf(err), "ringfence policy groups lists them"), "%w", err)
		}
		if mode != "" {
			p.Network.Mode = &policy.Rule{Value: mode, Source: flagSource("net")}
		}
		for _, g := range groups {
			p.Network.Groups = append(p.Network.Groups, policy.Rule{Value: g, Source: flagSource("net")})
		}
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
	return session.Look(launch.Options{Agent: agent.Command, Dir: dir, Environ: c.Environ, Flags: &policy.Policy{}, NoProject: true})
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
