package sentry

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// veth is the pair by which frames of the sentry come, if it has a network stack of its
// own and a way out.
func veth(p *plan.Plan) *plan.Veth {
	if p.Capture == nil {
		return nil
	}
	return p.Capture.Veth
}

// NoVeth is a kernel that makes no veth pair for us.
type NoVeth struct{ Err error }

func (e *NoVeth) Error() string { return "make a veth pair: " + e.Err.Error() }
func (e *NoVeth) Unwrap() error { return e.Err }

// join makes the pair between our network namespace and that of a child. Ours belongs to a
// user namespace in which the child has no right; its own holds nothing but the far end.
func join(v *plan.Veth, proc, child int) error {
	if v == nil {
		return nil
	}
	fd, err := unix.Openat(proc, fmt.Sprintf("%d/ns/net", child), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network namespace of the sentry: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Dup3(fd, plan.FarFD, unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(plan.FarFD)
	if err := sys.Netlink(unix.NETLINK_ROUTE, v.Pair); err != nil {
		return &NoVeth{err}
	}
	return raise(v.Quiet, v.Near)
}

// settle configures the far end, in the namespace of the stage. runsc takes all of it over
// into the sentry.
func settle(v *plan.Veth) error {
	if v == nil {
		return nil
	}
	return raise(v.Quiet, v.Far)
}

// raise configures one end.
func raise(quiet []byte, both [][]byte) error {
	err := sys.Netlink(unix.NETLINK_ROUTE, quiet)
	if err == nil || errors.Is(err, unix.EAFNOSUPPORT) { // who has no IPv6 makes up nothing
		err = sys.Routes(both)
	}
	if err != nil {
		return fmt.Errorf("addresses of the veth pair: %w", err)
	}
	return nil
}

// network is what runsc is told of it.
func network(p *plan.Plan) string {
	switch {
	case p.Sentry.Host:
		return "host"
	case veth(p) != nil:
		return "sandbox"
	}
	return "none"
}
