package keeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/test/wait"
)

// tasks are what children do. The watched call is getpgid: nothing else makes it.
var tasks = map[string]func() string{
	"getpgid": func() string {
		n, err := unix.Getpgid(1 << 30)
		return fmt.Sprint(n, " ", err)
	},
	"own": func() string {
		n, err := unix.Getpgid(0)
		return fmt.Sprint(n > 0, " ", err)
	},
	"run": func() string { // the descriptor that came is written, closed, and the file run
		fd, err := unix.Getpgid(0)
		if err != nil {
			return err.Error()
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil {
			return err.Error()
		}
		f := os.NewFile(uintptr(fd), "given")
		_, err = f.WriteString("#!/bin/sh\necho ran\n")
		if err := errors.Join(err, f.Close()); err != nil {
			return err.Error()
		}
		out, err := exec.Command(os.Args[1]).Output()
		return fmt.Sprint(flags, " ", string(out), err)
	},
	"full": func() string {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}); err != nil {
			return err.Error()
		}
		_, err := unix.Getpgid(0)
		return fmt.Sprint(err)
	},
	"strings": func() string {
		for _, at := range texts() {
			unix.RawSyscall(unix.SYS_GETPGID, uintptr(at), 0, 0)
		}
		return "done"
	},
	"nothing": func() string { return "done" },
}

// watched runs a task under a filter. A filter cannot be taken off again, so that is done
// in a re-execution of the test binary.
func watched(task func() string) error {
	if err := sys.NoNewPrivs(); err != nil {
		return err
	}
	watch, err := sys.LoadWatch(filter())
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(pipeFD, []byte("w"), unix.UnixRights(int(watch.Fd())), nil, 0); err != nil {
		return err
	}
	watch.Close()
	_, err = fmt.Print(task())
	return err
}

// filter hands one call over and allows all others.
func filter() []byte {
	var raw []byte
	for _, i := range []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_GETPGID},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
	} {
		raw = binary.NativeEndian.AppendUint16(raw, i.Code)
		raw = append(raw, i.Jt, i.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, i.K)
	}
	return raw
}

// caller is the outside of a child.
type caller struct {
	*listener
	t   *testing.T
	cmd *exec.Cmd
	out bytes.Buffer
}

func startWatched(t *testing.T, task string, argv ...string) *caller {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	c := &caller{t: t, cmd: exec.Command("/proc/self/exe", argv...)}
	c.cmd.Env = append(os.Environ(), childEnv+"=watched:"+task)
	c.cmd.ExtraFiles = []*os.File{theirs}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, os.Stderr
	err = c.cmd.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n != 1 {
		t.Fatalf("the child did not load its filter: %v", errors.Join(err, c.cmd.Wait()))
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		t.Fatal("no descriptor came", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatal("no descriptor came", err)
	}
	if c.listener, err = listen(os.NewFile(uintptr(fds[0]), "watch")); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(wait.Patience, func() { c.cmd.Process.Kill() })
	t.Cleanup(func() { late.Stop(); c.Close() })
	return c
}

// receive waits for the watched call.
func (c *caller) receive() *notice {
	c.t.Helper()
	var call notice
	if err := c.Receive(&call); err != nil {
		c.t.Fatal(err)
	}
	if call.Nr != unix.SYS_GETPGID || !c.Valid(&call) {
		c.t.Fatalf("received %+v", call)
	}
	return &call
}

// end waits for the child, and asserts what it said and that nobody is left.
func (c *caller) end(want string) {
	c.t.Helper()
	if err := c.cmd.Wait(); err != nil {
		c.t.Error(err)
	}
	if c.out.String() != want {
		c.t.Errorf("the child says %q, want %q", c.out.String(), want)
	}
	if err := c.Receive(new(notice)); !errors.Is(err, errEnded) {
		c.t.Errorf("Receive after the end: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, task string
		do         func(l *listener, call *notice)
		want       string
	}{
		{"continue", "own", (*listener).Continue, "true <nil>"},
		{"continue to an error", "getpgid", (*listener).Continue, "-1 no such process"},
		{"fail", "getpgid", func(l *listener, call *notice) { l.Fail(call, unix.EXDEV) }, "-1 invalid cross-device link"},
		{"return", "getpgid", func(l *listener, call *notice) { l.Return(call, 42) }, "42 <nil>"},
		{"return nothing", "getpgid", func(l *listener, call *notice) { l.Return(call, 0) }, "0 <nil>"},
		{"return twice", "getpgid", func(l *listener, call *notice) { l.Return(call, 1); l.Return(call, 2) }, "1 <nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			child := startWatched(t, c.task)
			c.do(child.listener, child.receive())
			child.end(c.want)
		})
	}
}

// TestGive: who got a descriptor has the only one. A file that is open to write
// anywhere cannot be run.
func TestGive(t *testing.T) {
	for flags, cloexec := range map[string]bool{"0": false, "1": true} {
		p := filepath.Join(t.TempDir(), "program")
		c := startWatched(t, "run", p)
		call := c.receive()
		fd, err := unix.Open(p, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		c.Give(call, fd, cloexec)
		if err := unix.Fstat(fd, new(unix.Stat_t)); err != unix.EBADF {
			t.Errorf("the descriptor is still open here: %v", err)
		}
		c.end(flags + " ran\n<nil>")
	}
}

func TestGiveWithoutRoom(t *testing.T) {
	c := startWatched(t, "full")
	call := c.receive()
	fd, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Give(call, fd, true)
	c.end("too many open files")
}

// TestKilled: a caller that is gone does not wait any more, and answers to it are
// lost without harm.
func TestKilled(t *testing.T) {
	c := startWatched(t, "getpgid")
	call := c.receive()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.cmd.Wait()
	if c.Valid(call) {
		t.Error("the call of a dead process is valid")
	}
	if _, err := call.String(0, new([page]byte)); err == nil {
		t.Error("the memory of a dead process was read")
	}
	c.Return(call, 1)
	fd, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Give(call, fd, true)
	if err := c.Receive(call); !errors.Is(err, errEnded) {
		t.Errorf("Receive: %v", err)
	}
}

func TestNobodyCalls(t *testing.T) { startWatched(t, "nothing").end("done") }

// TestClose ends who waits, and the calls of who is left fail.
func TestClose(t *testing.T) {
	c := startWatched(t, "getpgid")
	first := c.receive()
	ended := make(chan error)
	go func() { ended <- c.Receive(new(notice)) }()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, errEnded) {
		t.Errorf("Receive: %v", err)
	}
	if err := c.cmd.Wait(); err != nil || c.out.String() != "-1 function not implemented" {
		t.Errorf("call %d ended with %q, %v", first.ID, c.out.String(), err)
	}
}

// address is that of a string in memory that ends at a page without a neighbour.
type address uintptr

// texts maps them. The child passes the addresses; only the lengths are known outside.
func texts() []address {
	var out []address
	for _, c := range lengths {
		pages := (c.n+1)/page + 2
		b, err := unix.Mmap(-1, 0, pages*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			panic(err)
		}
		if err := unix.Mprotect(b[(pages-1)*page:], unix.PROT_NONE); err != nil {
			panic(err)
		}
		at := (pages-1)*page - c.n
		if c.ended {
			at--
		}
		copy(b[at:], strings.Repeat("x", c.n))
		out = append(out, address(uintptr(unsafe.Pointer(&b[at]))))
	}
	return append(out, 0, 1<<40)
}

var lengths = []struct {
	n     int
	ended bool // by a zero; else the page ends first
	err   error
}{
	{0, true, nil}, {1, true, nil}, {page - 2, true, nil}, {page - 1, true, nil},
	{page, true, syscall.ENAMETOOLONG}, {page + 1, true, syscall.ENAMETOOLONG}, {3 * page, true, syscall.ENAMETOOLONG},
	{1, false, unix.EFAULT}, {page - 1, false, unix.EFAULT}, {page, false, syscall.ENAMETOOLONG},
}

func TestStrings(t *testing.T) {
	c := startWatched(t, "strings")
	var buf [page]byte
	for _, l := range lengths {
		call := c.receive()
		got, err := call.String(call.Args[0], &buf)
		want := strings.Repeat("x", l.n)
		if l.err != nil {
			want = ""
		}
		if err != l.err || got != want {
			t.Errorf("%d bytes, ended %v: %d bytes, %v; want %v", l.n, l.ended, len(got), err, l.err)
		}
		if err := call.Read(call.Args[0], make([]byte, l.n+2)); err == nil {
			t.Errorf("%d bytes, ended %v: more was read than there is", l.n, l.ended)
		}
		c.Continue(call)
	}
	for range 2 {
		call := c.receive()
		if got, err := call.String(call.Args[0], &buf); err != unix.EFAULT {
			t.Errorf("at %#x: %q, %v", call.Args[0], got, err)
		}
		c.Continue(call)
	}
	c.end("done")
}
