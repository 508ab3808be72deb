package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/vm/serial"
)

// line is the second serial line. The first is the console, where the kernel
// writes when it likes.
const line = "/dev/ttyS1"

const cgroups = "/sys/fs/cgroup"

// patience bounds one command. Most take a second or two.
const patience = 2 * time.Minute

var environ = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm"}

// serve runs what comes over the line, one after the other, until it ends.
func serve([]string) error {
	f, err := os.OpenFile(line, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	if err := makeRaw(int(f.Fd())); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	// The first word is ours: what is sent before the line is raw would be lost.
	if err := serial.Send(f, serial.Outcome{Stdout: "ready"}); err != nil {
		return err
	}
	in := serial.NewReader(f)
	for {
		var c serial.Command
		if err := serial.Receive(in, &c); err != nil {
			return err
		}
		if len(c.Args) == 0 {
			return serial.Send(f, serial.Outcome{Stdout: "bye"})
		}
		o, err := execute(c)
		if err != nil {
			o = serial.Outcome{Error: err.Error()}
		}
		if err := serial.Send(f, o); err != nil {
			return err
		}
	}
}

// makeRaw stops the kernel from echoing and rewriting what passes.
func makeRaw(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

func execute(c serial.Command) (serial.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	home := "/root"
	if c.UID != 0 {
		home = "/home/user"
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Env = append(append(environ[:len(environ):len(environ)], "HOME="+home), c.Env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = filepath.Join(home, "project"), &stdout, &stderr, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(c.UID), Gid: uint32(c.UID)}}
	if c.Group != "" {
		dir, err := os.Open(filepath.Join(cgroups, c.Group))
		if err != nil {
			return serial.Outcome{}, err
		}
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	finish := func() {}
	if c.TTY {
		var err error
		if cmd.Stderr, finish, err = terminal(&stderr); err != nil {
			return serial.Outcome{}, err
		}
	}
	err := cmd.Run()
	finish()
	if ctx.Err() != nil {
		return serial.Outcome{}, fmt.Errorf("%q took longer than %s: stdout %q, stderr %q", c.Args, patience, stdout.String(), stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return serial.Outcome{}, err
	}
	return serial.Outcome{Status: status(cmd.ProcessState), Stdout: stdout.String(), Stderr: stderr.String()}, nil
}

// terminal makes one whose output goes to w. finish returns when all of it has.
func terminal(w io.Writer) (tty *os.File, finish func(), err error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(w, master) // ends with EIO when the last user of the terminal is gone
		close(done)
	}()
	return tty, func() {
		tty.Close()
		<-done
		master.Close()
	}, nil
}

func status(p *os.ProcessState) int {
	if ws := p.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}
