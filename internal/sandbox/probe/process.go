package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FirstProcess wants PID 1 to be one of ours that tells nothing.
func FirstProcess() Result {
	const name = "pid"
	b, err := os.ReadFile("/proc/1/comm")
	if err != nil {
		return open(name, "%v", err)
	}
	if comm := strings.TrimSpace(string(b)); comm != Comm {
		return open(name, "PID 1 is %q", comm)
	}
	return closed(name, "PID 1 is ours")
}

// processes looks for a process of the host, by its number and by what it shows.
// The number alone says nothing: one of ours may have it.
func processes(t *Target) Result {
	const name = "pid"
	proc := "/proc/" + strconv.Itoa(t.Process)
	if t.carries(readSome(proc + "/cmdline")) {
		return open(name, "process %d of the host is visible", t.Process)
	}
	if _, err := os.Stat(proc); err != nil && !errors.Is(unix.Kill(t.Process, 0), unix.ESRCH) {
		return open(name, "process %d of the host takes signals", t.Process)
	}
	if r := separate(name, "pid", t); r.Open {
		return r
	}
	return FirstProcess()
}

// told wants no process but ourselves to show what the launcher knows: bubblewrap
// keeps the launcher's environment and command line in its PID 1. Threads share
// both with their process.
func told(t *Target) Result {
	const name = "told"
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return open(name, "%v", err)
	}
	seen := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		seen++
		for _, f := range []string{"environ", "cmdline"} {
			if t.carries(readSome("/proc/" + e.Name() + "/" + f)) {
				return open(name, "the canary was read from %s of process %d", f, pid)
			}
		}
	}
	if b := readSome("/proc/1/environ"); len(b) > 0 {
		return open(name, "PID 1 shows %d bytes of environment", len(b))
	}
	return closed(name, "%d other processes, none shows it", seen)
}

// keeper wants the process that keeps us out of our hands: it has the same user
// id, so only its not being dumpable protects it. It is never signalled: were
// there no PID namespace, it would be the host's init.
func keeper(t *Target) Result {
	const name = "keeper"
	if r := FirstProcess(); t.Keeper == 1 && r.Open {
		return open(name, "the supervisor's process is not there: %s", r.Detail)
	}
	proc := fmt.Sprintf("/proc/%d/", t.Keeper)
	for _, f := range []string{"environ", "mem", "maps", "auxv"} {
		fd, err := unix.Open(proc+f, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		if r := refused(name, err, unix.EACCES, unix.EPERM); r.Open {
			return open(name, "open %s%s: %s", proc, f, r.Detail)
		}
	}
	for _, l := range []string{"exe", "cwd", "root", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "fd/5"} {
		_, err := os.Readlink(proc + l)
		missing := errors.Is(err, unix.ENOENT) && strings.HasPrefix(l, "fd/") // that number is not in use
		if r := refused(name, err, unix.EACCES, unix.EPERM); r.Open && !missing {
			return open(name, "follow %s%s: %s", proc, l, r.Detail)
		}
	}
	if r := refused(name, takeDescriptor(t.Keeper), unix.EPERM); r.Open {
		return open(name, "take a descriptor of process %d: %s", t.Keeper, r.Detail)
	}
	if r := refused(name, trace(t.Keeper), unix.EPERM); r.Open {
		return open(name, "trace process %d: %s", t.Keeper, r.Detail)
	}
	return closed(name, "process %d cannot be read, traced or robbed", t.Keeper)
}

func takeDescriptor(pid int) error {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(p)
	fd, err := unix.PidfdGetfd(p, 0, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// trace seizes pid and lets it go again, with the signal that it may just have
// been about to take.
func trace(pid int) error {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	if err := unix.PtraceInterrupt(pid); err != nil {
		return err
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
		return err
	}
	sig := ws.StopSignal()
	if sig == unix.SIGTRAP { // our own interruption
		sig = 0
	}
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(sig), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
