package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/policy/toolchain"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// program is what is to be run.
type program struct {
	Base
	Contribution
}

// Program finds it.
func Program(b Base) (Contribution, error) {
	q := agent.Query{Dir: b.Dir, Path: b.Getenv("PATH"), Home: b.User.Home, Workspaces: b.Paths(), Look: agent.Host()}
	pg := &program{Base: b}
	pg.Command.rest = b.Asked.Args
	if b.Own != nil {
		return pg.there()
	}
	if len(b.Profile.Search.Names) == 0 {
		if len(b.Asked.Args) == 0 || b.Asked.Args[0] == "" {
			return pg.Contribution, errEmpty()
		}
		q.Command = b.Asked.Args[0]
	}
	bin, err := b.Profile.Find(q)
	if err != nil && b.hasTool(q.Command) {
		return pg.Contribution, nil
	}
	if err != nil {
		return pg.Contribution, err
	}
	if q.Command == "" {
		pg.Command.program = slices.Concat([]string{bin.Path}, b.Profile.Args)
	}
	pg.show(bin)
	return pg.Contribution, nil
}

// there leaves it to the place to find it: its programs are not this machine's.
func (pg *program) there() (Contribution, error) {
	if names := pg.Profile.Search.Names; len(names) > 0 {
		pg.Command.program = slices.Concat(names[:1], pg.Profile.Args)
	} else if len(pg.Asked.Args) == 0 || pg.Asked.Args[0] == "" {
		return pg.Contribution, errEmpty()
	}
	return pg.Contribution, nil
}

func errEmpty() error {
	return fault.New(fault.Usage, "for example: ringfence run -- make test", "the command is empty")
}

// show makes the binary, what it needs beside it and its interpreter visible where the
// system directories do not show them already.
func (pg *program) show(bin agent.Binary) {
	for _, p := range []string{bin.Tree, bin.Interpreter} {
		if p == "" || System(p) {
			continue
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil || System(real) || pg.inWorkspace(real) {
			continue
		}
		pg.Mounts = append(pg.Mounts, plan.Mount{Src: real, Dst: real, Why: "program " + pg.Profile.Title})
		pg.Link(p, real)
	}
	if bin.Tree != "" && !System(bin.Path) && !pg.inWorkspace(bin.Path) {
		pg.Link(bin.Path, bin.Resolved)
	}
}

// Toolchains shows what PATH leads to, read-only.
func Toolchains(b Base) (out Contribution, err error) {
	if b.Own != nil {
		out.Path = b.Own.Path
		return out, nil
	}
	in := toolchain.Input{Workspaces: b.Paths(), Path: b.Getenv("PATH"), Home: b.User.Home, Env: b.Getenv, Look: toolchain.Lookup{Stat: os.Stat, Resolve: filepath.EvalSymlinks, ReadDir: os.ReadDir, ReadFile: os.ReadFile},
		Credential: func(p string) string {
			if found := knownsecrets.Under(b.User.Home, p, nil); len(found) > 0 {
				return found[0].Entry.What
			}
			return ""
		}}
	found := toolchain.Find(in)
	for _, r := range found.Roots {
		if System(r.Resolved) || b.inWorkspace(r.Resolved) {
			continue
		}
		out.Mounts = append(out.Mounts, plan.Mount{Src: r.Resolved, Dst: r.Path, Why: "toolchain " + r.Why})
	}
	for _, h := range found.Hidden {
		out.Masks = append(out.Masks, plan.Mask{Path: h, Why: "holds credentials"})
	}
	for _, c := range found.Copies {
		out.Files = append(out.Files, plan.File{Dst: c.Path, Data: c.Data, Why: "toolchain " + c.Why})
	}
	out.Path = strings.Join(found.Path, ":")
	for _, s := range found.Env {
		out.Set("toolchain", s.Name, s.Value)
	}
	for _, e := range found.Dropped {
		out.Dropped = append(out.Dropped, fmt.Sprintf("%s: %s", plan.Show(e.Entry), e.Reason))
	}
	return out, nil
}
