// Package probe looks at walls from where the agent stands. Each probe tries the
// thing that its wall forbids and says what happened; none of them reads
// configuration, and each reports Open when it is run outside a sandbox.
//
// The launch subset runs in PID 1 at every start, after the last wall and before
// the agent: it must be quick, must not fork, and must leave nothing behind. The
// whole battery (Main) runs as a command of its own, inside and, as the negative
// control, outside: there it must change nothing either, so whatever could stops
// at the first thing that is open.
//
// The network has a battery of its own. It tries addresses of everybody's, so it runs
// nowhere but in a namespace that leads nowhere: inside, and as the control in one
// whose walls it has taken down itself.
package probe

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Comm is the name by which ps shows PID 1 inside.
const Comm = "ringfence"

// Result is what one probe saw.
type Result struct {
	Name   string `json:"name"`
	Open   bool   `json:"open"` // the wall did not stop it
	Detail string `json:"detail"`
}

func open(name, format string, args ...any) Result {
	return Result{name, true, fmt.Sprintf(format, args...)}
}

func closed(name, format string, args ...any) Result {
	return Result{name, false, fmt.Sprintf(format, args...)}
}

// refused judges an attempt by the error it got: only the errors in want mean
// that the wall answered. EFAULT or EINVAL mean that the kernel was reached.
func refused(name string, err error, want ...error) Result {
	for _, w := range want {
		if errors.Is(err, w) {
			return closed(name, "%v", err)
		}
	}
	if err == nil || errors.Is(err, unix.Errno(0)) {
		return open(name, "it worked")
	}
	return open(name, "the wall did not answer: %v", err)
}

// Launch runs the launch subset. own is the directory that mounts would let us
// write and Landlock must not; writable are the mount points that may be
// writable; built says that the root is one that somebody else made, and was looked at.
func Launch(own string, writable []string, built bool) []Result {
	status := readStatus("/proc/self/status")
	return []Result{
		Capabilities(status), NoNewPrivs(status), Filtered(status), Terminal(), Nested(), Mounting(), Keyring(),
		Landlock(own), View(writable, built), Network(), FirstProcess(), Threads(),
	}
}
