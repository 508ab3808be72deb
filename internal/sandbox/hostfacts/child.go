package hostfacts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ProbeArg is the first argument by which main knows the child of a probe.
const ProbeArg = "__probe"

// outcome is what the child says on its standard output: nothing but "{}" when
// the wall stands.
type outcome struct {
	Text  string        `json:"text,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
}

func (o *outcome) Error() string { return o.Text }

func (o *outcome) Unwrap() error {
	if o.Errno == 0 {
		return nil
	}
	return o.Errno
}

// ProbeMain is the child of a probe: args are the name of the trial and what it
// needs to know of the outside. It returns the exit status.
func ProbeMain(args []string) int {
	// Capabilities, keyrings, Landlock and seccomp belong to the thread.
	runtime.LockOSThread()
	if len(args) == 1 && args[0] == "hello" {
		return 0
	}
	if len(args) == 1 && args[0] == "wait" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	for _, t := range append(trials, veth) {
		if len(args) == 2 && args[0] == t.name {
			return report(t.try(args[1]))
		}
	}
	return 2
}

func report(err error) int {
	var o outcome
	if err != nil {
		o.Text = err.Error()
		errors.As(err, &o.Errno)
	}
	if json.NewEncoder(os.Stdout).Encode(o) != nil {
		return 1
	}
	return 0
}

// run makes the child of one trial and returns its error.
func (t trial) run(ctx context.Context) error {
	c, cancel := child(ctx, t.name, t.outer())
	defer cancel()
	if !t.plain {
		c.SysProcAttr = namespaces(t.flags)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return step(t.startStep(), errnoOf(err))
	}
	b, _ := io.ReadAll(io.LimitReader(stdout, 4096))
	if err := c.Wait(); err != nil {
		return fmt.Errorf("the child of the probe: %w", err)
	}
	var o outcome
	if err := json.Unmarshal(b, &o); err != nil {
		return fmt.Errorf("the child of the probe: %w", err)
	}
	if o.Text != "" {
		return &o
	}
	return nil
}

// startStep is what failed when the child could not be started.
func (t trial) startStep() string {
	if t.name == "user" { // prepare has made such a clone already
		return "map the user"
	}
	return "clone"
}

// child prepares a child of our own binary with an empty environment. A probe
// that hangs is killed.
func child(ctx context.Context, args ...string) (*exec.Cmd, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	c := exec.CommandContext(ctx, "/proc/self/exe", append([]string{ProbeArg}, args...)...)
	c.Args[0], c.Dir, c.Env = "ringfence", "/", []string{}
	return c, cancel
}

// namespaces maps our own uid and gid alone, as the launch does. The ambient set
// carries the capabilities over the exec.
func namespaces(flags uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE},
	}
}

// outer is what the child compares itself with.
func (t trial) outer() string {
	if t.name == "user" {
		return strconv.Itoa(os.Getuid())
	}
	link, _ := os.Readlink("/proc/self/ns/" + t.name)
	return link
}

// errnoOf strips the path that os/exec puts around an errno.
func errnoOf(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
