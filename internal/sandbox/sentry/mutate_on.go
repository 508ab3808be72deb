//go:build ringfence_mutate

package sentry

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// passed is the defence that the test build was told to leave out: each process on the
// way to the agent hands it on to the next as its last argument.
func passed() []string { return os.Args[len(os.Args)-1:] }

func mutated(what string) bool { return slices.Contains(strings.Split(passed()[0], ","), what) }

// mutateChild leaves out what the process of the plan is born with.
func mutateChild(s *sys.Spawn) {
	if mutated("sentry-user") {
		s.Namespaces, s.Born = s.Namespaces&^unix.CLONE_NEWUSER, nil
	}
	if mutated("sentry-pid") {
		s.Namespaces &^= unix.CLONE_NEWPID
	}
	for what, option := range map[string]uintptr{"sentry-bounding": unix.PR_CAPBSET_DROP, "sentry-privileges": unix.PR_SET_NO_NEW_PRIVS} {
		if mutated(what) {
			s.Before = slices.DeleteFunc(s.Before, func(c sys.Call) bool { return c.Number == unix.SYS_PRCTL && c.Args[0] == option })
		}
	}
	if mutated("sentry-seccomp") || mutated("sentry-privileges") { // the one needs the other
		s.Before = slices.DeleteFunc(s.Before, func(c sys.Call) bool { return c.Number == unix.SYS_SECCOMP })
	}
	for i, c := range s.Before {
		if c.Number == unix.SYS_MOUNT && mutated("sentry-proc") {
			s.Before[i].Args[3] &^= unix.MS_RDONLY
		}
	}
	if mutated("sentry-told") {
		s.Env = []string{"TOLD=1"}
	}
	if mutated("fds") { // who hands descriptors on from here is PID 1 alone
		if fd, err := unix.Open("/", unix.O_RDONLY, 0); err == nil {
			s.Files = append(s.Files, fd)
		}
	}
}

// mutateBundle leaves out what the sentry itself is told.
func mutateBundle(s *spec) {
	s.Process.NoNewPrivs = !mutated("sentry-privileges")
	s.Root.ReadOnly = !mutated("sentry-root")
	for i, m := range s.Mounts {
		if m.At == "/sys" && mutated("sentry-sys") {
			s.Mounts[i] = mount{m.At, "sysfs", "sysfs", m.Options[:4]}
		}
		if m.At == "/dev/shm" && mutated("shm") { // the plan shows the host's
			s.Mounts[i] = mount{m.At, "bind", rootfs + m.At, []string{"rbind", "rw", "nosuid", "nodev"}}
		}
	}
}
