//go:build ringfence_mutate

package session

import (
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// mutate takes one defence away, so that a test can see its check report missing.
// It exists in test builds only.
func mutate(s *Session, environ []string) {
	m, p := os.Getenv("RINGFENCE_MUTATE"), s.Plan
	switch m {
	case "":
	case "keeper":
		unkept(p)
	case "review":
		for i, o := range p.Ops {
			if o.Do == plan.DoLayer {
				p.Ops[i] = plan.Op{Do: plan.DoBind, Dst: o.Dst, Src: o.Src, Write: true, ID: o.ID}
			}
		}
	case "etc":
		for i, o := range p.Ops {
			if o.Dst == "/etc/passwd" {
				p.Ops[i] = plan.Op{Do: plan.DoBind, Dst: o.Dst, Src: o.Dst}
			}
		}
	case "mount":
		unkept(p)
		p.Without(m)
	case "no-new-privs": // Landlock and seccomp demand it, and the former sets it
		unkept(p)
		p.Without(m)
	case "capture", "refuse", "nftables":
		mutateCapture(p, m)
	case "home":
		p.ShowOutside(s.User.Home)
	case "tmp", "run":
		p.ShowOutside("/" + m)
	case "shm":
		p.ShowOutside("/dev/shm")
	case "env":
		p.Process.Env = append(launch.Raws(environ), p.Process.Env...)
	case "gitconfig":
		p.Ops = slices.DeleteFunc(p.Ops, func(o plan.Op) bool { return string(o.Dst) == launch.GitConfigPath })
		p.Process.Env = slices.DeleteFunc(p.Process.Env, func(e plan.Raw) bool { return strings.HasPrefix(string(e), "GIT_CONFIG_GLOBAL=") })
		for i, o := range p.Ops {
			if o.Do == plan.DoReadOnly && o.Dst == "/dev" {
				p.Ops = slices.Insert(p.Ops, i, plan.Op{Do: plan.DoBind, Src: plan.Raw(s.User.Home + "/.gitconfig"), Dst: plan.Raw(s.User.Home + "/.gitconfig")})
				break
			}
		}
	default:
		p.Without(m) // some hold the same: either of net and landlock abstract sockets, of caps and seccomp the packet rules
	}
}

// unkept mounts the trees writable, as they are.
func unkept(p *plan.Plan) {
	for i, o := range p.Ops {
		if slices.ContainsFunc(p.Trees, func(t plan.Tree) bool { return t.Path == o.Dst }) && o.Do == plan.DoBind {
			p.Ops[i].Write = true
		}
	}
	p.Ops = slices.DeleteFunc(p.Ops, func(o plan.Op) bool { return strings.HasPrefix(string(o.Dst), plan.Own+"/layer") })
	p.Trees, p.Watch = nil, nil
}

// mutateCapture takes away how the network ends at the gate, or a part of it.
func mutateCapture(p *plan.Plan, m string) {
	if m == "capture" {
		p.Capture = nil
	} else if p.Capture != nil {
		netns.Mutate(p.Capture, m)
	}
}
