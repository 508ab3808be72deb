package cli

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/cli/sessions"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/detached"
)

// KeptName is argv[0] of a launch whose session outlives the terminal it was started
// from. It finds the held side of its own terminal at keptMaster, and at keptFirst the
// connection to the one who started it.
const (
	KeptName   = "ringfence-kept"
	keptMaster = 3
	keptFirst  = 4

	keptQuiet = "quiet" // its first word: nobody is there to be talked to
	keptTalks = "talks"
)

// MainKept is Main for such a launch.
func MainKept(args []string, in, out, err *os.File) int {
	t, told, fail := openKept()
	if fail != nil {
		fmt.Fprintf(err, "ringfence: error: this is started by ringfence itself: %v\n", fail)
		return 125
	}
	c := newConsole(in, out, err)
	c.Kept, c.Quiet = t, len(args) > 1 && args[1] == keptQuiet
	status := run(c, append([]string{"ringfence"}, told...), nil)
	// Nobody prints any more: then the held side comes to its end.
	if null, fail := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); fail == nil {
		for fd := range 3 {
			unix.Dup3(null, fd, 0)
		}
	}
	t.Finish(status)
	return status
}

func openKept() (t *detached.Terminal, args []string, err error) {
	if err := unix.SetNonblock(keptMaster, true); err != nil {
		return nil, nil, err
	}
	conn, err := control.Inherited(keptFirst)
	if err != nil {
		return nil, nil, err
	}
	if args, err = conn.ReceiveWords(); err != nil {
		return nil, nil, err
	}
	return detached.New(os.NewFile(keptMaster, "terminal"), conn), args, nil
}

// startKept starts this very command once more, in a session of its own with a
// terminal of its own, and shows it to the user, or with -d leaves it alone.
func startKept(c *command.Console, name string, args []string, l *rules.Flags) (int, error) {
	conn, err := forkKept(c, name, args)
	if err != nil {
		return 125, fault.New(fault.Failed, "", "start a session that stays: %w", err)
	}
	id := ""
	client := &detached.Client{Conn: conn, Out: c.Out, Began: func(began string) bool { id = began; return l.Detach }}
	if l.Detach {
		client.Out = c.Err
	} else if c.Typing() && terminal.IsTerminal(c.Out) {
		client.In = c.In
	}
	how, err := client.Run()
	switch {
	case err != nil:
		return 125, err
	case l.Detach && how == detached.Detached && id != "":
		fmt.Fprintln(c.Out, id)
		return 0, nil
	case how == detached.Ended:
		return client.Status, nil
	case id == "":
		return 125, fault.New(fault.Failed, "", "the session did not begin")
	}
	return sessions.Left(c, id, how, client.Status)
}

// forkKept starts it and returns the connection to it.
func forkKept(c *command.Console, name string, args []string) (*control.Conn, error) {
	master, slave, err := hostTerminal()
	if err != nil {
		return nil, err
	}
	defer master.Close()
	defer slave.Close()
	if ws, err := terminal.Size(c.Out); err == nil {
		unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, ws)
	}
	conn, far, err := control.Pair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	talk := keptQuiet
	if terminal.IsTerminal(c.Err) {
		talk = keptTalks
	}
	// Its arguments go by the connection: a command line can be read by everybody on the
	// machine for as long as the session lives, and may hold the value of a variable.
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{KeptName, talk}, Env: c.Environ,
		Stdin: slave, Stdout: slave, Stderr: slave, ExtraFiles: []*os.File{master, far},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, err
	}
	if err := conn.SendWords(append([]string{name}, args...)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, cmd.Process.Release()
}

// hostTerminal makes a terminal with a size that everybody can live with.
func hostTerminal() (master, slave *os.File, err error) {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	master = os.NewFile(uintptr(m), "terminal")
	if err := unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0); err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("unlock the terminal: %w", err)
	}
	s, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		master.Close()
		return nil, nil, fmt.Errorf("open the terminal: %w", errno)
	}
	unix.IoctlSetWinsize(m, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	return master, os.NewFile(s, "terminal"), nil
}
