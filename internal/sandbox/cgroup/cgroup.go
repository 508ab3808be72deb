// Package cgroup bounds how many processes a session may have and how much
// memory it may use, with the first mechanism that this host lends us: a cgroup
// v2 subtree of our own, cgroup v1, or a scope of the systemd manager we belong
// to. Where none will do, the Report says which limit is not enforced and why;
// it never claims more than it did.
//
// A group outlives the process that made it, so a janitor (a second process of
// our own binary) removes it when the supervisor dies by a signal that cannot be
// caught.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Limits are the numbers to enforce; zero means not wanted.
type Limits struct {
	Pids   int64 // processes and threads
	Memory int64 // bytes, swap included
}

// Group is where the processes of one session are counted. A Group without any
// mechanism is valid: Join and Close do nothing.
type Group struct {
	sys     system
	parts   []part
	scope   *scope
	janitor *Janitor
	fd      int
	born    bool // the process was born in the parts that allow it
	closing sync.Once
	closed  error
}

// part is one directory of ours and the limits it carries.
type part struct {
	by     Mechanism
	dir    string
	limits Limits
	enable []string // v2: controllers to switch on for the children of our parent
}

// Elsewhere is for limits that somebody else enforces.
func Elsewhere(want Limits, by Mechanism) (*Group, Report) {
	r := newReport(want)
	if by == Nobody {
		r.refuse(want, "the session runs on another machine, and what that limits is its own word")
	} else {
		r.grant(want, by)
	}
	return &Group{fd: -1}, r
}

// Open makes the group "ringfence-<session>", empty and with its limits set.
// The error is for what should never happen; a host that cannot enforce a limit
// is not an error but a line in the Report.
func Open(session string, want Limits) (*Group, Report, error) {
	return hostSystem().open(session, want)
}

func (s system) open(session string, want Limits) (*Group, Report, error) {
	if err := check(session, want); err != nil {
		return nil, Report{}, err
	}
	g, r := &Group{sys: s, fd: -1}, newReport(want)
	parts, sc := s.choose("ringfence-"+session, &r)
	if len(parts) > 0 || sc != nil {
		// First the one who tidies, then what is to be tidied: there is no moment
		// at which a kill -9 leaves a group that nobody will remove.
		j, err := startJanitor(parts)
		if err != nil {
			return nil, Report{}, err
		}
		g.janitor, g.scope = j, sc
	}
	for _, p := range parts {
		if err := s.create(p); err != nil {
			r.refuse(p.limits, string(p.by)+": "+cause(err))
			continue
		}
		g.parts = append(g.parts, p)
		r.grant(p.limits, p.by)
	}
	if sc != nil {
		r.grant(sc.limits, Scope)
	}
	if len(g.parts) == 0 && g.scope == nil {
		g.Close() // nothing came of it: the janitor may go
	}
	if err := g.openFD(); err != nil {
		return nil, Report{}, errors.Join(err, g.Close())
	}
	s.offerRlimit(&r)
	return g, r, nil
}

// choose names what will be used, best first, and changes nothing yet.
func (s system) choose(name string, r *Report) (parts []part, sc *scope) {
	if r.rest() == (Limits{}) {
		return nil, nil
	}
	v, err := s.look()
	if err != nil {
		r.refuse(r.rest(), "cgroup: "+cause(err))
		return nil, nil
	}
	left := r.rest()
	if p, ok := s.planV2(v, name, left, r); ok {
		parts, left = append(parts, p), left.without(p.limits)
	}
	v2 := len(parts) > 0
	for _, p := range s.planV1(v, name, left, r) {
		parts, left = append(parts, p), left.without(p.limits)
	}
	// A process is in one v2 group only, so a scope would take it out of ours.
	if left != (Limits{}) && !v2 {
		sc = s.findScope(v, name+".scope", left, r)
	}
	return parts, sc
}

func check(session string, want Limits) error {
	if len(session) == 0 || len(session) > 64 {
		return fmt.Errorf("cgroup: session name of %d bytes", len(session))
	}
	for _, c := range []byte(session) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("cgroup: session name %q", session)
		}
	}
	if want.Pids < 0 || want.Memory < 0 {
		return fmt.Errorf("cgroup: limit below zero: pids %d, memory %d", want.Pids, want.Memory)
	}
	return nil
}

// create makes the directory and sets its limits before anything can be in it.
func (s system) create(p part) error {
	if err := enable(p); err != nil {
		return err
	}
	if err := s.mkdir(p.dir); err != nil {
		return fmt.Errorf("mkdir: %w", err)
	}
	if err := setLimits(p); err != nil {
		return errors.Join(err, s.rmdir(p.dir))
	}
	return nil
}

func setLimits(p part) error {
	memory, swap, swapMax := "memory.max", "memory.swap.max", "0"
	if p.by == V1 {
		limit := strconv.FormatInt(p.limits.Memory, 10)
		memory, swap, swapMax = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", limit
	}
	if p.limits.Pids > 0 {
		if err := write(p.dir, "pids.max", strconv.FormatInt(p.limits.Pids, 10)); err != nil {
			return err
		}
	}
	if p.limits.Memory == 0 {
		return nil
	}
	if err := write(p.dir, memory, strconv.FormatInt(p.limits.Memory, 10)); err != nil {
		return err
	}
	// Without this the excess goes to swap. A kernel that does not account swap
	// has no such file; then RAM alone is bounded.
	if err := write(p.dir, swap, swapMax); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// openFD opens the v2 directory for CLONE_INTO_CGROUP, if the kernel has it.
func (g *Group) openFD() error {
	for _, p := range g.parts {
		if p.by != V2 || !cloneInto() {
			continue
		}
		fd, err := unix.Open(p.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("cgroup: open own group: %w", err)
		}
		g.fd = fd
	}
	return nil
}

// FD is the descriptor for SysProcAttr.CgroupFD, or -1 when the child can only
// be put in by Join. With it the child is never outside, not for an instant.
func (g *Group) FD() int { return g.fd }

// Join puts process pid and all its threads in. It is to be called before the
// process gets anything to do; after a start Within it changes nothing. For a
// scope this is the moment when the manager is asked and the answer is checked
// by its effect, so an error here means that a granted limit does not hold.
func (g *Group) Join(pid int) error {
	for _, p := range g.parts {
		if g.born && (p.by == V1 || g.fd >= 0) {
			continue
		}
		if err := write(p.dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("%s: join: %w", p.by, err)
		}
	}
	if g.scope != nil {
		if err := g.scope.start(pid, g.janitor.pid()); err != nil {
			return fmt.Errorf("%s: %w", Scope, err)
		}
	}
	return nil
}

// dirs are the directories in which this session's processes are counted now.
func (g *Group) dirs() []string {
	var dirs []string
	for _, p := range g.parts {
		dirs = append(dirs, p.dir)
	}
	if g.scope != nil && g.scope.dir != "" {
		dirs = append(dirs, g.scope.dir)
	}
	return dirs
}

// Close kills what is left, removes the group and ends the janitor. It may be
// called more than once and waits for a bounded time.
func (g *Group) Close() error {
	g.closing.Do(func() { g.closed = g.close() })
	return g.closed
}

func (g *Group) close() error {
	var errs []error
	for _, p := range g.parts {
		errs = append(errs, remove(p.dir, g.sys.rmdir))
	}
	if g.scope != nil && g.scope.dir != "" {
		errs = append(errs, kill(g.scope.dir)) // systemd removes an empty scope itself
	}
	if g.fd >= 0 {
		errs = append(errs, unix.Close(g.fd))
		g.fd = -1
	}
	if g.janitor != nil {
		g.janitor.Stop()
	}
	return errors.Join(errs...)
}
