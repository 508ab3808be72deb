// Command probe is the attacker's tool of the attack suite: a static program that
// tries one thing without a library between itself and the kernel, and says how
// the kernel answered. It runs inside the sandbox and, as the negative control,
// outside.
//
// For everything tried it prints one line,
//
//	open NAME [DETAIL]     it worked, or it failed for a reason beyond the walls
//	closed NAME ERRNO      the answer that a wall gives
//	seen NAME ERRNO        refused, but in a way that tells that it is there
//
// and exits 0 if anything was open, 3 if anything was seen, else 1. A few verbs
// are tools for the host's side of a case instead: they end in "-- COMMAND".
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit statuses. 2 is a mistake in the case itself.
const (
	exitOpen   = 0
	exitClosed = 1
	exitUsage  = 2
	exitSeen   = 3
)

// attempt is one thing that was tried.
type attempt struct {
	name   string
	err    error
	detail string // for people, where it worked
}

func main() { os.Exit(dispatch(os.Args[1:])) }

func dispatch(args []string) int {
	verbs := map[string]func(args []string) int{
		// tried inside
		"read":     read,
		"link":     link,
		"write":    write,
		"connect":  connect,
		"order":    order,
		"call":     call,
		"sockets":  sockets,
		"netlink":  netlink,
		"raw":      raw,
		"tty":      tty,
		"foreign":  foreign,
		"keys":     keys,
		"fds":      fds,
		"reopen":   reopen,
		"trace":    trace,
		"smuggle":  smuggle,
		"chain":    chain,
		"sysv":     sysv,
		"fork":     fork,
		"allocate": allocate,
		"room":     room,
		"works":    works,
		// on the host
		"no-users": noUsers,
		"failing":  failing,
		"flip":     flip,
		// itself, a second time
		"entered": enter,
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		usage("no such verb")
	}
	return verbs[args[0]](args[1:])
}

func usage(why string) {
	fmt.Fprintln(os.Stderr, "probe:", why)
	os.Exit(exitUsage)
}

// report prints what came of the attempts. Of the errors, those in walls are what
// a wall answers. With none given, it is ENOENT: for an allow-list the right
// answer is "not there".
func report(tried []attempt, walls ...syscall.Errno) int {
	if len(walls) == 0 {
		walls = []syscall.Errno{unix.ENOENT}
	}
	status := exitClosed
	for _, a := range tried {
		var errno syscall.Errno
		switch {
		case a.err == nil:
			fmt.Println("open", a.name, a.detail)
			status = exitOpen
		case errors.As(a.err, &errno) && slices.Contains(walls, errno):
			fmt.Println("closed", a.name, unix.ErrnoName(errno))
		default:
			fmt.Println("seen", a.name, describe(a.err))
			if status == exitClosed {
				status = exitSeen
			}
		}
	}
	return status
}

func describe(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}
