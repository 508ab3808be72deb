package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/agent"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/run"
)

// launchFlags are the flags of everything that prepares a session.
type launchFlags struct {
	set                              *flag.FlagSet
	workspaces, ro, rw, mask, expose words
	env, forceEnv                    words
	pids                             int64
	memory                           string
	yes, noInput                     bool
	dryRun                           dryRun
}

// words is a flag that may be given several times.
type words []string

func (w *words) String() string     { return strings.Join(*w, ",") }
func (w *words) Set(s string) error { *w = append(*w, s); return nil }

// dryRun is a flag with an optional value.
type dryRun string

func (d *dryRun) String() string   { return string(*d) }
func (d *dryRun) IsBoolFlag() bool { return true }
func (d *dryRun) Set(s string) error {
	switch s {
	case "true", "text":
		*d = "text"
	case "json", "bwrap":
		*d = dryRun(s)
	default:
		return fmt.Errorf("%q is not one of text, json, bwrap", s)
	}
	return nil
}

func newLaunchFlags(c *context, name, args, about string) *launchFlags {
	l := &launchFlags{set: c.flags(name, args, about)}
	f := l.set
	f.Var(&l.workspaces, "workspace", "`PATH[:ro]` to work in, may be repeated (default: the repository or directory you are in)")
	f.Var(&l.ro, "ro", "`PATH` to show read-only")
	f.Var(&l.rw, "rw", "`PATH` to show read-write")
	f.Var(&l.mask, "mask", "`PATH` of the workspace to hide")
	f.Var(&l.expose, "expose", "`PATH` of a credential that the agent shall see")
	f.Var(&l.env, "env", "`NAME[=VALUE]` to pass or set")
	f.Var(&l.forceEnv, "force-env", "`NAME` that is refused by default and shall pass")
	f.Int64Var(&l.pids, "pids", 0, "at most `N` processes and threads")
	f.StringVar(&l.memory, "memory", "", "at most `SIZE` of memory, such as 4GiB")
	return l
}

func (l *launchFlags) interactive() {
	l.set.BoolVar(&l.yes, "yes", false, "do not pause before the start")
	l.set.BoolVar(&l.noInput, "no-input", false, "never ask anything")
	l.set.Var(&l.dryRun, "dry-run", "print the plan and start nothing; =json for programs, =bwrap as a bubblewrap command")
}

// options turns flags into what the user asked for.
func (l *launchFlags) options(c *context, agentName string, args []string) (run.Options, error) {
	p, err := l.policy()
	if err != nil {
		return run.Options{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return run.Options{}, fault.New(fault.Failed, "change to a directory that exists", "current directory: %w", err)
	}
	return run.Options{Agent: agentName, Args: args, Dir: dir, Workspaces: l.workspaces, Flags: p,
		Env: l.env, ForceEnv: l.forceEnv, Environ: c.environ}, nil
}

// policy is the layer that the flags make.
func (l *launchFlags) policy() (*policy.Policy, error) {
	p := &policy.Policy{}
	for _, f := range []struct {
		flag   string
		values words
		list   *policy.List
	}{{"ro", l.ro, &p.Files.Read}, {"rw", l.rw, &p.Files.Write}, {"expose", l.expose, &p.Files.Expose}} {
		for _, v := range f.values {
			abs, err := absolute(v)
			if err != nil {
				return nil, err
			}
			*f.list = append(*f.list, policy.Rule{Value: abs, Source: policy.Source{File: "flag --" + f.flag}})
		}
	}
	for _, v := range l.mask {
		if strings.HasPrefix(v, "~/") {
			v, _ = absolute(v)
		}
		p.Files.Mask = append(p.Files.Mask, policy.Rule{Value: filepath.Clean(v), Source: policy.Source{File: "flag --mask"}})
	}
	if l.pids != 0 {
		p.Limits.Pids = &policy.Limit{Value: l.pids, Source: policy.Source{File: "flag --pids"}}
	}
	if l.memory != "" {
		n, err := policy.ParseSize(l.memory)
		if err != nil {
			return nil, fault.New(fault.Usage, "write a size as 512MiB or 4GiB", "--memory: %w", err)
		}
		p.Limits.Memory = &policy.Limit{Value: n, Source: policy.Source{File: "flag --memory"}}
	}
	if l.pids < 0 || l.pids > 0 && l.pids < 8 {
		return nil, fault.New(fault.Usage, "give a number of at least 8", "--pids %d leaves no room for an agent", l.pids)
	}
	return p, nil
}

func absolute(p string) (string, error) {
	if p == "" || strings.ContainsRune(p, 0) {
		return "", fault.New(fault.Usage, "", "a path is empty or holds a NUL byte")
	}
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", fmt.Errorf("%q: %w", p, err)
	}
	return abs, nil
}

// userAgent reports whether the user has a profile of that name.
func (c *context) userAgent(name string) bool {
	dirs, err := c.dirs()
	if err != nil {
		return false
	}
	names, err := agent.Names(filepath.Join(dirs.Config, "agents"))
	if err != nil {
		return false
	}
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
