package seccomp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter cannot be taken off again, so it is loaded in a re-execution of the
// test binary. This variable says what the child is to do; its first word says
// under which filter: bare, or the architecture whose program is loaded.
const childEnv = "RINGFENCE_SECCOMP_CHILD"

func TestMain(m *testing.M) {
	under, task, ok := strings.Cut(os.Getenv(childEnv), " ")
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(under, task); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(under, task string) error {
	early := startThread()
	if under != "bare" {
		raw, err := Filter(under)
		if err != nil {
			return err
		}
		if err := load(raw); err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
	answers := map[string]string{}
	switch task {
	case "probe":
		for _, p := range probes {
			answers[p.name] = p.call().Error()
		}
	case "sweep":
		for _, name := range slices.Concat(expectRefused, expectAbsent) {
			if numberOf(name) != none {
				answers[name] = probe{nr: name, args: [6]uint64{noise, noise, noise, noise, noise, noise}}.call().Error()
			}
		}
	case "x32":
		for _, name := range []string{"getpid", "socket", "keyctl"} {
			answers[name] = probe{nr: name, x32: true}.call().Error()
		}
	case "thread":
		answers["early"] = early(probe{nr: "keyctl"}).Error()
		answers["late"] = startThread()(probe{nr: "keyctl"}).Error()
	case "work":
		for name, work := range works {
			answers[name] = fmt.Sprint(work())
		}
	case "exec":
		return unix.Exec(os.Args[1], os.Args[1:], os.Environ())
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// load does what the inside stage does, and no more of it than the test needs.
func load(raw []byte) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(raw) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// startThread returns a function that makes a call on one thread, which exists
// from now on.
func startThread() func(probe) syscall.Errno {
	in, out := make(chan probe), make(chan syscall.Errno)
	started := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(started)
		for p := range in {
			out <- p.call()
		}
	}()
	<-started
	return func(p probe) syscall.Errno { in <- p; return <-out }
}

// probe is one raw system call.
type probe struct {
	name string // of the attempt
	nr   string // of the call
	x32  bool
	args [6]uint64
	want syscall.Errno
}

func (p probe) call() syscall.Errno {
	nr := uintptr(numberOf(p.nr))
	if p.x32 {
		nr |= 0x40000000
	}
	a := p.args
	_, _, errno := syscall.Syscall6(nr, uintptr(a[0]), uintptr(a[1]), uintptr(a[2]), uintptr(a[3]), uintptr(a[4]), uintptr(a[5]))
	return errno
}

// numberOf returns none for a call that this architecture does not have.
func numberOf(name string) int16 {
	at := slices.IndexFunc(numbers[:], func(n number) bool { return n.name == name })
	return numbers[at].on(runtime.GOARCH)
}

// ask starts a child and returns its answers.
func ask(t *testing.T, under, task string) map[string]string {
	t.Helper()
	out, err := command(under, task).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("child %s %s: %v: %s", under, task, err, exit.Stderr)
	}
	answers := map[string]string{}
	if err := errors.Join(err, json.Unmarshal(out, &answers)); err != nil {
		t.Fatalf("child %s %s: %v", under, task, err)
	}
	return answers
}

// command is the child, in a session of its own: no probe has a terminal to harm.
func command(under, task string, argv ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", argv...)
	cmd.Env = append(os.Environ(), childEnv+"="+under+" "+task)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
