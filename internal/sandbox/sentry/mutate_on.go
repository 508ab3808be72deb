//go:build ringfence_mutate

package sentry

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// passed is the defence that the test build was told to leave out: each process on the
// way to the agent hands it on to the next as its last argument.
func passed() []string { return os.Args[len(os.Args)-1:] }

func mutated(what string) bool { return slices.Contains(strings.Split(passed()[0], ","), what) }

// mutateInit becomes another user, or leaves a descriptor behind.
func mutateInit() {
	if mutated("sentry-user") { // by name alone, or it could start no program of the user's
		syscall.AllThreadsSyscall(unix.SYS_SETRESUID, uintptr(os.Getuid()+1), ^uintptr(0), ^uintptr(0))
	}
	if mutated("fds") { // who hands descriptors on from here is PID 1 alone
		unix.Open("/", unix.O_RDONLY, 0)
	}
}

// mutateBundle leaves out what the sentry itself is told.
func mutateBundle(s *spec) {
	s.Process.NoNewPrivs = !mutated("sentry-privileges")
	s.Root.ReadOnly = !mutated("sentry-root")
	if mutated("sentry-user") {
		caps := append(slices.Clone(initCaps), "CAP_SETUID")
		s.Process.Capabilities = capabilities{caps, caps, caps, caps, caps}
	}
	if mutated("sentry-seccomp") || mutated("sentry-privileges") { // the one needs the other
		s.Process.Args[1] = filterNone
	}
	if mutated("sentry-told") {
		s.Process.Env = []string{"TOLD=1"}
	}
	for i, m := range s.Mounts {
		if m.At == "/proc" && mutated("sentry-proc") {
			s.Mounts[i].Options = m.Options[1:]
		}
		if m.At == "/sys" && mutated("sentry-sys") {
			s.Mounts[i] = mount{m.At, "sysfs", "sysfs", m.Options[:4]}
		}
		if m.At == "/dev/shm" && mutated("shm") { // the plan shows the host's
			s.Mounts[i] = mount{m.At, "bind", rootfs + m.At, []string{"rbind", "rw", "nosuid", "nodev"}}
		}
	}
}
