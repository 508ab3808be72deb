package rung

import (
	"errors"
	"syscall"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
)

// Failure is a step of the launch that failed, by the name of its wall.
type Failure struct {
	Step  string
	Errno syscall.Errno
	Text  string
}

func (f *Failure) Error() string { return f.Step + ": " + f.Text }

func (f *Failure) Unwrap() error {
	if f.Errno == 0 {
		return nil
	}
	return f.Errno
}

// The steps that callers ask for by name.
const (
	StepGate  = "gate"
	StepLayer = "layer" // there is no overlayfs to be had
	StepVeth  = "veth"  // there is no way between a sentry and its gate

	stepSentry = "sentry"
	StepAround = "around" // a wall does not stand around a sentry
)

// FailedAt says whether a launch failed at a step.
func FailedAt(err error, step string) bool {
	var f *Failure
	return errors.As(err, &f) && f.Step == step
}

// Tried is what came of trying a part of a rung: what was found, or why it cannot be had
// and the one command that helps.
func Tried(found hostfacts.Result, err error) hostfacts.Result {
	if err == nil {
		return found
	}
	out := hostfacts.Result{Name: found.Name, Status: hostfacts.Unusable, Detail: err.Error()}
	var f *fault.Error
	if errors.As(err, &f) {
		out.Fix = f.Hint
	}
	return out
}

// Explain turns a step that failed into an error a person can act on:
// which wall, why, and the one command that helps.
func Explain(err error, facts hostfacts.Facts) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	switch f.Step {
	case "exec":
		return execFailure(f)
	case "view":
		return fault.New(fault.Refused, "`--dry-run` shows the whole view", "the view cannot be built: %s", f.Text)
	case StepGate:
		return gateFailure(f)
	case watchStep:
		return fault.New(fault.Refused, "run with --review: then nothing reaches the host until it is applied",
			"the live view needs Linux 5.19, and a seccomp listener that nothing else has: %s", f.Text)
	case StepVeth:
		return fault.New(fault.Refused, VethHint, "gVisor's own network stack cannot be joined to the gate: %s", f.Text)
	case StepAround:
		return fault.New(fault.Refused, "run `ringfence doctor`", "a wall does not stand around gVisor: %s", f.Text)
	case stepSentry:
		return fault.New(fault.Failed, "see `ringfence rungs`; --rung native uses the host's kernel", "gVisor does not start: %s", f.Text)
	case "plan", "inside", "confirm", "wait":
		return fault.New(fault.Failed, "run `ringfence doctor`", "%w", err)
	}
	switch f.Errno { // not the wall's fault, but the launcher's limits
	case syscall.EMFILE:
		return fault.New(fault.Failed, "ulimit -n 1024", "too few open files are allowed: %s", f.Text)
	case syscall.EAGAIN:
		return fault.New(fault.Failed, "ulimit -u 4096, or end some processes", "too few processes are allowed: %s", f.Text)
	}
	reason, fix := hostfacts.Diagnose(f.Step, f.Errno, facts)
	return fault.New(fault.Refused, fix, "wall %s cannot be raised: %s (%s)", f.Step, reason, f.Text)
}

// VethHint says what helps where no veth pair can be made.
const VethHint = "sudo modprobe veth; or let the agent use the host's network stack, which it can then attack: [rung] gvisor-network = \"host\""

// watchStep is how the inside stage calls the loading of the keeper's filter.
const watchStep = "watch"

func execFailure(f *Failure) error {
	switch f.Errno {
	case syscall.ENOENT:
		return fault.New(fault.NotFound, "the command must be visible inside: see `--dry-run` and add --ro PATH if it is not", "%s", f.Text)
	case syscall.EACCES, syscall.ENOEXEC, syscall.EPERM, syscall.EISDIR, syscall.ENOTDIR:
		return fault.New(fault.NotExecutable, "", "%s", f.Text)
	}
	return fault.New(fault.Failed, "", "%s", f.Text)
}

// gateFailure: the network cannot be made to end at the gate, so there is none. It is
// never left open.
func gateFailure(f *Failure) error {
	hint := "sudo modprobe -a nf_tables nft_chain_nat nft_redir nft_ct nft_reject_inet; or start without a network: --net none"
	switch f.Errno {
	case syscall.EPERM, syscall.EACCES:
		hint = "something on this host forbids nftables in a user namespace; --net none starts without a network"
	}
	return fault.New(fault.Refused, hint, "the gate cannot be opened: %s", f.Text)
}
