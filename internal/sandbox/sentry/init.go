package sentry

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// InitName is argv[0] of the first process on the sentry's kernel.
const InitName = "ringfence-sentry"

// Which filter it gets.
const (
	filterPlain  = "filter"
	filterReview = "review"
	filterNone   = "none"
)

// initControl is where runsc puts the socket to the supervisor.
const initControl = 3

// init keeps the main goroutine on the first thread, which forks the agent: see
// package inside.
func init() {
	if len(os.Args) > 0 && os.Args[0] == InitName {
		runtime.LockOSThread()
	}
}

// Init raises what needs rights on the sentry's kernel, and gives all of them up. What
// carries the plan out goes on in the same process: a second start of our program takes
// long on the sentry.
func Init(args []string) {
	if err := prepare(args); err != nil {
		report(wire.Inherited(initControl), "sentry", err)
		os.Exit(1)
	}
}

func prepare(args []string) error {
	if len(args) != 2+len(passed()) {
		return errors.New("no filter is named")
	}
	last, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return err
	}
	for _, do := range []func() error{restrictRoot, tidyDevices, func() error { return drop(last) }} {
		if err := do(); err != nil {
			return err
		}
	}
	if args[1] == filterNone {
		return nil
	}
	filter, err := seccomp.Sentry(runtime.GOARCH, args[1] == filterReview)
	if err != nil {
		return err
	}
	return sys.LoadFilter(filter)
}

func restrictRoot() error {
	restrict := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_RDONLY)
	if mutated("sentry-nosuid") {
		restrict &^= unix.MS_NOSUID
	}
	if mutated("sentry-root") {
		restrict &^= unix.MS_RDONLY
	}
	if err := unix.Mount("", "/", "", restrict, ""); err != nil {
		return fmt.Errorf("restrict the root: %w", err)
	}
	return nil
}

// devices are those that every program may expect.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin", "stdout", "stderr"}

// tidyDevices takes away what the sentry has beyond them, such as its FUSE device.
func tidyDevices() error {
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.Contains(devices, e.Name()) || mutated("sentry-devices") {
			continue
		}
		if err := os.RemoveAll("/dev/" + e.Name()); err != nil {
			return fmt.Errorf("take a device away: %w", err)
		}
	}
	// The sentry opens a terminal by this name on the mount that the name is on, and so
	// refuses to write where that is read-only.
	if err := unix.Mount("/dev/tty", "/dev/tty", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keep /dev/tty writable: %w", err)
	}
	if err := unix.Mount("", "/dev/tty", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("restrict /dev/tty: %w", err)
	}
	return unix.Mount("", "/dev", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_RDONLY, "")
}

// drop gives up every right, on every thread but for their bounding sets: see
// sys.DropBounding.
func drop(lastCap []byte) error {
	last, err := sys.LastCap(lastCap)
	if err != nil {
		return err
	}
	if !mutated("sentry-bounding") {
		if err := sys.DropBounding(last); err != nil {
			return err
		}
	}
	mutateInit()
	return sys.DropCapabilities()
}
