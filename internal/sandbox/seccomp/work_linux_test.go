package seccomp

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// works is what an agent does all day and must be able to do under the filter.
var works = map[string]func() error{
	"a shell":       func() error { return exec.Command("/bin/sh", "-c", "echo $(echo x) | cat >/dev/null").Run() },
	"git":           workGit,
	"threads":       workThreads,
	"interfaces":    workInterfaces,
	"tcp":           workTCP,
	"unix pair":     workPair,
	"debugger":      workPtrace,
	"pidfd":         workPidfd,
	"fifo":          workFIFO,
	"inner filter":  workSeccomp,
	"private files": func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_FILES) }) },
}

func TestWork(t *testing.T) {
	answers := ask(t, runtime.GOARCH, "work")
	for name := range works {
		if got := answers[name]; got != "<nil>" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// onThread runs f on a thread that ends with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// workGit also makes glibc start threads, which it tries by clone3 first.
func workGit() error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("needle\n"), 0o644); err != nil {
		return err
	}
	for _, argv := range [][]string{
		{"init", "-q"}, {"add", "f"}, {"commit", "-q", "-m", "x"}, {"grep", "-q", "--threads=2", "needle"},
	} {
		cmd := exec.Command("git", argv...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", argv, err, out)
		}
	}
	return nil
}

func workThreads() error {
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() { errs[i] = onThread(func() error { _, err := os.Stat("/"); return err }) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func workInterfaces() error {
	found, err := net.Interfaces()
	if err == nil && len(found) == 0 {
		return errors.New("no interface, not even lo")
	}
	return err
}

func workTCP() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}

func workPair() error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	return errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
}

// workPtrace stops a child at its exec, reads its registers, and lets it go.
func workPtrace() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil || !status.Stopped() {
		return fmt.Errorf("child not stopped: %#x, %w", status, err)
	}
	var regs syscall.PtraceRegs
	word := make([]byte, 8)
	err := syscall.PtraceGetRegs(cmd.Process.Pid, &regs)
	if err == nil {
		_, err = syscall.PtracePeekData(cmd.Process.Pid, uintptr(regs.PC()), word)
	}
	return errors.Join(err, syscall.PtraceDetach(cmd.Process.Pid), cmd.Wait())
}

func workPidfd() error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.PidfdSendSignal(fd, 0, nil, 0), unix.Close(fd))
}

func workFIFO() error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600)
}

// workSeccomp stacks the same filter on one thread once more.
func workSeccomp() error {
	raw, err := Filter(runtime.GOARCH)
	if err != nil {
		return err
	}
	return load(raw)
}
