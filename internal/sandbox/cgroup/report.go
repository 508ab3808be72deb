package cgroup

import (
	"errors"
	"syscall"
)

// Mechanism is what enforces a limit.
type Mechanism string

// The mechanisms, best first.
const (
	V2     Mechanism = "cgroup v2"
	V1     Mechanism = "cgroup v1"
	Scope  Mechanism = "systemd scope"
	Rlimit Mechanism = "rlimit" // RLIMIT_NPROC, which the inside stage sets
	Engine Mechanism = "engine" // of containers
	Nobody Mechanism = "nobody" // there is nothing of this machine to be limited
)

// Limit is the fate of one wanted limit.
type Limit struct {
	Want int64     `json:"want,omitempty"`
	By   Mechanism `json:"by,omitempty"`
	Why  string    `json:"why,omitempty"` // what stood in the way of each mechanism not used
}

// Enforced reports whether the limit holds. One that is not wanted does not.
func (l Limit) Enforced() bool { return l.By != "" }

// Report says for each limit what enforces it, or why nothing does. Its texts
// name no path and no user, so that they are safe to paste.
type Report struct {
	Pids   Limit `json:"pids"`
	Memory Limit `json:"memory"`
}

func newReport(want Limits) Report {
	return Report{Pids: Limit{Want: want.Pids}, Memory: Limit{Want: want.Memory}}
}

// rest is what is wanted and not enforced yet.
func (r *Report) rest() Limits {
	var l Limits
	if !r.Pids.Enforced() {
		l.Pids = r.Pids.Want
	}
	if !r.Memory.Enforced() {
		l.Memory = r.Memory.Want
	}
	return l
}

func (r *Report) grant(l Limits, by Mechanism) {
	if l.Pids > 0 {
		r.Pids.By = by
	}
	if l.Memory > 0 {
		r.Memory.By = by
	}
}

func (r *Report) refuse(l Limits, why string) {
	if l.Pids > 0 {
		r.Pids.add(why)
	}
	if l.Memory > 0 {
		r.Memory.add(why)
	}
}

func (l *Limit) add(why string) {
	if l.Why != "" {
		l.Why += "; "
	}
	l.Why += why
}

func (l Limits) without(m Limits) Limits {
	if m.Pids > 0 {
		l.Pids = 0
	}
	if m.Memory > 0 {
		l.Memory = 0
	}
	return l
}

// cause is the error without the paths that the standard library puts around it.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
