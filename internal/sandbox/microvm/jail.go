package microvm

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// jail is the plan of the sandbox in which an emulator runs: the native walls, an empty
// network, and of this machine's files what the emulator itself needs, and below one
// directory what the session's plan shows, read-only and with its masks. Whoever breaks out
// of the guest into the emulator finds no more than the guest was shown, and can change
// nothing but the guest's own disk.
func jail(session *plan.Plan, argv []string, given []plan.Op, devices []string) (*plan.Plan, error) {
	p := &plan.Plan{Version: plan.Version, Session: session.Session, Hostname: "machine", UID: session.UID, GID: session.GID,
		Walls:    slices.DeleteFunc(plan.AllWalls(), func(w plan.Wall) bool { return w == plan.WallTTY }),
		Limits:   session.Limits, // what the emulator opens and starts, it does for the guest
		Landlock: plan.Landlock{ABI: session.Landlock.ABI}, Seccomp: session.Seccomp, Process: plan.Process{Dir: "/"}}
	for _, a := range argv {
		p.Process.Argv = append(p.Process.Argv, plan.Raw(a))
	}
	p.Ops = append(p.Ops, plan.Op{Do: plan.DoTmpfs, Dst: plan.Own, Size: 1 << 20, Mode: 0o755, NoExec: true},
		plan.Op{Do: plan.DoTmpfs, Dst: "/dev", Size: 64 << 10, Mode: 0o755, NoExec: true})
	for _, d := range devices {
		p.Ops = append(p.Ops, plan.Op{Do: plan.DoDevice, Dst: plan.Raw(d), Src: plan.Raw(d)})
		p.Landlock.Dev = append(p.Landlock.Dev, plan.Raw(d))
	}
	p.Ops = append(p.Ops, plan.Op{Do: plan.DoProc, Dst: "/proc"})
	own := system()
	p.Ops = append(p.Ops, own...)
	p.Ops = append(p.Ops, hidden(session, own)...)
	p.Ops = append(p.Ops, given...)
	for _, o := range given {
		if !o.Write {
			continue
		}
		p.Landlock.Write = append(p.Landlock.Write, o.Dst)
		st, err := os.Lstat(string(o.Src))
		if err != nil {
			return nil, err
		}
		p.Limits.File = uint64(st.Size()) // a disk does not grow, whoever has the emulator
	}
	shared, err := shares(session)
	if err != nil {
		return nil, err
	}
	p.Ops = append(p.Ops, shared...)
	p.Ops = append(p.Ops, plan.Op{Do: plan.DoReadOnly, Dst: "/dev"}, plan.Op{Do: plan.DoReadOnly, Dst: "/"})
	return p, nil
}

// system is what a program of this machine needs to start.
func system() (out []plan.Op) {
	for _, at := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/nix/store"} {
		var st unix.Stat_t
		if unix.Lstat(at, &st) != nil {
			continue
		}
		if to, err := os.Readlink(at); err == nil {
			out = append(out, plan.Op{Do: plan.DoSymlink, Dst: plan.Raw(at), Src: plan.Raw(to)})
			continue
		}
		out = append(out, plan.Op{Do: plan.DoBind, Dst: plan.Raw(at), Src: plan.Raw(at)})
	}
	return out
}

// hidden are the masks of the session in what the emulator is shown at its own place: proc, and
// the system.
func hidden(session *plan.Plan, system []plan.Op) (out []plan.Op) {
	for _, o := range session.Ops {
		shown := func(s plan.Op) bool { return s.Do == plan.DoBind && file.Within(string(o.Dst), string(s.Dst)) }
		if o.Do == plan.DoMask && (file.Within(string(o.Dst), "/proc") || slices.ContainsFunc(system, shown)) {
			out = append(out, plan.Op{Do: plan.DoMask, Dst: o.Dst})
		}
	}
	return out
}
