package gitoracle

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// tracer follows a program and all that it starts.
type tracer struct {
	onExec  func(path string, argv []string)
	onWrite func(path string)
	execs   int
}

const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACESECCOMP |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

// run starts argv and follows it until it and everything it started is gone.
func (t *tracer) run(dir string, env []string, argv ...string) error {
	runtime.LockOSThread() // a tracer is a thread, and waits for its own only
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{"watched"}, argv...), &syscall.ProcAttr{
		Dir: dir, Env: append(env, watchedEnv+"=1"), Files: []uintptr{null.Fd(), null.Fd(), null.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		return err
	}
	expired := make(chan bool, 1)
	watch := time.AfterFunc(wait.Patience, func() {
		expired <- true
		syscall.Kill(-pid, syscall.SIGKILL)
	})
	defer watch.Stop()
	err = t.follow(pid)
	if len(expired) > 0 {
		return errHang
	}
	return err
}

func (t *tracer) follow(first int) error {
	for started := false; ; {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == syscall.EINTR:
		case err == syscall.ECHILD:
			return nil
		case err != nil:
			return err
		case ws.Stopped() && !started:
			started = true
			if err := syscall.PtraceSetOptions(first, options); err != nil {
				return fmt.Errorf("witness: %w", err)
			}
			syscall.PtraceCont(first, 0)
		case ws.Stopped():
			t.stopped(pid, ws)
		}
	}
}

// stopped handles one stop. Errors of ptrace are dropped: the only one that can
// happen is that the process was killed meanwhile, and then wait says so.
func (t *tracer) stopped(pid int, ws syscall.WaitStatus) {
	sig := ws.StopSignal()
	switch event := int(ws) >> 16; {
	case event == unix.PTRACE_EVENT_SECCOMP:
		t.atCall(pid)
		sig = 0
	case event != 0, sig == syscall.SIGTRAP:
		sig = 0
	case sig == syscall.SIGSTOP:
		sig = 0 // how a new process begins
	}
	syscall.PtraceCont(pid, int(sig))
}

type syscallInfo struct {
	Op     uint8
	_      [3]uint8
	Arch   uint32
	IP, SP uint64
	Nr     uint64
	Args   [6]uint64
	_      uint64
}

func (t *tracer) atCall(pid int) {
	var info syscallInfo
	if _, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(pid),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0); errno != 0 {
		return
	}
	switch a := info.Args; info.Nr {
	case unix.SYS_EXECVE:
		t.exec(pid, absolute(pid, unix.AT_FDCWD, text(pid, a[0])), a[1])
	case unix.SYS_EXECVEAT:
		t.exec(pid, absolute(pid, int(int32(a[0])), text(pid, a[1])), a[2])
	default:
		for _, at := range places[info.Nr] {
			from := unix.AT_FDCWD
			if at[0] >= 0 {
				from = int(int32(a[at[0]]))
			}
			_, opening := opens[info.Nr]
			t.onWrite(resolve(absolute(pid, from, text(pid, a[at[1]])), opening || info.Nr == unix.SYS_OPENAT2))
		}
	}
}

// exec tells of a program that is there to be executed. Those that are not are
// what a search along PATH tries.
func (t *tracer) exec(pid int, path string, argv uint64) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return
	}
	t.execs++
	var args []string
	for len(args) < 256 {
		p := peek(pid, argv+uint64(8*len(args)))
		if p == 0 {
			break
		}
		args = append(args, text(pid, p))
	}
	t.onExec(path, args)
}

// absolute is a path of another process for ours. Links are not followed yet.
func absolute(pid, from int, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	dir := fmt.Sprintf("/proc/%d/cwd", pid)
	if from != unix.AT_FDCWD {
		dir = fmt.Sprintf("/proc/%d/fd/%d", pid, from)
	}
	to, err := os.Readlink(dir)
	if err != nil || path == "" {
		return to
	}
	return to + "/" + path // not cleaned: the kernel goes through links before ..
}

// resolve lets the kernel say where a path leads. The last name is followed only
// where the call does so.
func resolve(path string, follow bool) string {
	for range 8 {
		if follow {
			if real, ok := kernel(path); ok {
				return real
			}
		}
		dir, name := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
		if name == "" || name == "." || name == ".." {
			if real, ok := kernel(path); ok {
				return real
			}
		}
		real, ok := kernel(dir)
		if !ok {
			return path // the call fails as well
		}
		to, err := os.Readlink(real + "/" + name)
		if !follow || err != nil {
			return strings.TrimSuffix(real, "/") + "/" + name
		}
		if path = to; !filepath.IsAbs(to) {
			path = real + "/" + to
		}
	}
	return path
}

func kernel(path string) (string, bool) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	return real, err == nil
}

func peek(pid int, at uint64) uint64 {
	var word [8]byte
	if n, err := read(pid, at, word[:]); err != nil || n != 8 {
		return 0
	}
	return *(*uint64)(unsafe.Pointer(&word))
}

// text reads a string of another process, page by page.
func text(pid int, at uint64) string {
	var out []byte
	for len(out) < 1<<17 {
		buf := make([]byte, 4096-at%4096)
		n, err := read(pid, at, buf)
		if err != nil || n == 0 {
			break
		}
		if end := bytes.IndexByte(buf[:n], 0); end >= 0 {
			return string(append(out, buf[:end]...))
		}
		out, at = append(out, buf[:n]...), at+uint64(n)
	}
	return string(out)
}

func read(pid int, at uint64, buf []byte) (int, error) {
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	return unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(buf)}}, 0)
}
