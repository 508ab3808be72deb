package source

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NoCore keeps this process and all that it starts from leaving a core dump. Who
// reads secrets calls it before. The limit is one byte and not none: the kernel asks
// no limit when the dump goes to a program (systemd-coredump, apport), save for this
// one value, which tells it that the program itself has crashed. Where the hard limit
// is none already an ordinary user cannot have it: then only NoDump is certain.
func NoCore() error {
	limit := unix.Rlimit{Cur: 1, Max: 1}
	err := unix.Setrlimit(unix.RLIMIT_CORE, &limit)
	if err == unix.EPERM {
		err = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	}
	if err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	return nil
}

// NoDump is NoCore, and no other process of the user can trace this one or read its
// memory. It is not for a process that has a sandbox to build: the files of /proc
// about an undumpable process are root's, the map of its children's ids with them.
func NoDump() error {
	if err := NoCore(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid dumps: %w", err)
	}
	return nil
}
