package session

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

// prepareProgram finds it.
func prepareProgram(b Base) (Contribution, error) {
	q := agent.Query{Dir: b.dir, Path: b.getenv("PATH"), Home: b.User.Home, Workspaces: b.paths(), Look: agent.Host()}
	pg := &program{Base: b}
	pg.command.rest = b.asked.Args
	if len(b.Profile.Search.Names) == 0 {
		if len(b.asked.Args) == 0 || b.asked.Args[0] == "" {
			return pg.Contribution, fault.New(fault.Usage, "for example: ringfence run -- make test", "the command is empty")
		}
		q.Command = b.asked.Args[0]
	}
	bin, err := b.Profile.Find(q)
	if err != nil {
		return pg.Contribution, err
	}
	if q.Command == "" {
		pg.command.program = slices.Concat([]string{bin.Path}, b.Profile.Args)
	}
	pg.show(bin)
	return pg.Contribution, nil
}

// show makes the binary, what it needs beside it and its interpreter visible where the
// system directories do not show them already.
func (pg *program) show(bin agent.Binary) {
	for _, p := range []string{bin.Tree, bin.Interpreter} {
		if p == "" || system(p) {
			continue
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil || system(real) || pg.inWorkspace(real) {
			continue
		}
		pg.mounts = append(pg.mounts, plan.Mount{Src: real, Dst: real, Why: "program " + pg.Profile.Title})
		pg.link(p, real)
	}
	if bin.Tree != "" && !system(bin.Path) && !pg.inWorkspace(bin.Path) {
		pg.link(bin.Path, bin.Resolved)
	}
}

// prepareToolchains shows what PATH leads to, read-only.
func prepareToolchains(b Base) (out Contribution, err error) {
	in := toolchain.Input{Workspaces: b.paths(), Path: b.getenv("PATH"), Home: b.User.Home, Env: b.getenv, Look: toolchain.Lookup{Stat: os.Stat, Resolve: filepath.EvalSymlinks, ReadDir: os.ReadDir, ReadFile: os.ReadFile},
		Credential: func(p string) string {
			if found := knownsecrets.Under(b.User.Home, p, nil); len(found) > 0 {
				return found[0].Entry.What
			}
			return ""
		}}
	found := toolchain.Find(in)
	for _, r := range found.Roots {
		if system(r.Resolved) || b.inWorkspace(r.Resolved) {
			continue
		}
		out.mounts = append(out.mounts, plan.Mount{Src: r.Resolved, Dst: r.Path, Why: "toolchain " + r.Why})
	}
	for _, h := range found.Hidden {
		out.masks = append(out.masks, plan.Mask{Path: h, Why: "holds credentials"})
	}
	for _, c := range found.Copies {
		out.files = append(out.files, plan.File{Dst: c.Path, Data: c.Data, Why: "toolchain " + c.Why})
	}
	out.path = strings.Join(found.Path, ":")
	for _, s := range found.Env {
		out.set("toolchain", s.Name, s.Value)
	}
	for _, e := range found.Dropped {
		out.dropped = append(out.dropped, fmt.Sprintf("%s: %s", plan.Show(e.Entry), e.Reason))
	}
	return out, nil
}
