// Package guest is PID 1 of a virtual machine: it makes a small system around itself out of
// what the host shares, and starts the far end in it as the session's user. It has no network
// and needs none: the link is a port of the machine.
//
// The machine is the wall here. Whoever gets past the walls that the far end raises is root
// of a machine without a network card, whose files the host lets nobody write.
package guest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/far"
)

// Name is argv[0] of PID 1, and where it lies in the archive that the kernel unpacks.
const Name = "/ringfence-guest"

// The first argument: what is to be done.
const (
	Boot  = "boot"  // the user and the group follow
	Probe = "probe" // say that it booted
)

// Booted is what a guest says that was to boot and nothing else.
const Booted = "ringfence-guest: booted"

// Port is the name of the port that is the link; Share is the tag of what the host shares.
const (
	Port  = "ringfence"
	Share = "share"
)

// ShareAt is where the host's files are, with the masks of the plan; DiskAt is where the
// guest's own disk is.
const (
	ShareAt = "/share"
	DiskAt  = "/disk"
)

// ModulesAt holds the modules of the kernel, and Order the names in the order of loading.
const (
	ModulesAt = "/modules"
	Order     = ModulesAt + "/order"
)

// Is reports whether this process is PID 1 of a guest.
func Is(args []string) bool { return len(args) > 1 && args[0] == Name && os.Getpid() == 1 }

// Main never returns: the machine ends with it.
func Main() {
	runtime.LockOSThread()
	var err error
	args := told(os.Args)
	switch {
	case args[1] == Probe:
		fmt.Println(Booted)
	case args[1] == Boot && len(args) == 4:
		err = boot(args[2], args[3])
	default:
		err = errors.New("it was told nothing that it knows")
	}
	if err != nil {
		fmt.Println("ringfence-guest:", err)
	}
	unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART) // the machine was started not to come up again
	select {}
}

func boot(uid, gid string) error {
	var ids [2]uint32
	for i, s := range []string{uid, gid} {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return err
		}
		ids[i] = uint32(n)
	}
	g := Greeting{Kernel: uptime()}
	if err := first(); err != nil {
		return err
	}
	if err := loadModules(); err != nil {
		return err
	}
	g.Modules = uptime()
	port, err := openPort()
	if err != nil {
		return err
	}
	if err := furnish(ids); err != nil {
		return err
	}
	g.Furnished = uptime()
	if _, err := port.WriteString(g.String()); err != nil {
		return fmt.Errorf("greet the host: %w", err)
	}
	return serve(port, ids)
}

func uptime() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return ts.Nano() / 1e6
}

// serve runs the far end as the user, and returns when it has ended. The far end has a session
// keyring: it could not tell otherwise that the sandbox has another one.
func serve(port *os.File, ids [2]uint32) error {
	if _, err := unix.KeyctlJoinSessionKeyring("ringfence-guest"); err != nil {
		return fmt.Errorf("make a session keyring: %w", err)
	}
	attr := &syscall.ProcAttr{Dir: "/", Env: farEnv(), Files: []uintptr{port.Fd(), port.Fd(), 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: ids[0], Gid: ids[1]}}}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{far.Name, DiskAt + "/far"}, attr)
	if err != nil {
		return fmt.Errorf("start the far end: %w", err)
	}
	port.Close()
	accomplice(pid)
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for the far end: %w", err)
		case got == pid && ws.Signaled():
			return fmt.Errorf("the far end was ended by signal %d", ws.Signal())
		case got == pid:
			return nil
		}
	}
}

// Greeting is the first that the host hears of a guest: how many milliseconds after its
// start the kernel had booted, its modules were loaded, and the system was furnished.
type Greeting struct{ Kernel, Modules, Furnished int64 }

// GreetingSize is the length of a greeting.
const GreetingSize = len("ringfence-guest 1 0000000 0000000 0000000\n")

func (g Greeting) String() string {
	const most = 9999999
	return fmt.Sprintf("ringfence-guest 1 %07d %07d %07d\n", min(g.Kernel, most), min(g.Modules, most), min(g.Furnished, most))
}
