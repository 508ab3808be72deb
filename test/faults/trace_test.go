package faults

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// role is what a process is to a launch.
type role string

const (
	supervisor role = "supervisor"
	inside     role = "inside" // PID 1 of the sandbox, from its birth
	other      role = "other"  // the janitor, the agent
)

// stop is a place in the life of a process: before or after its nth call of a
// kind. Calls of a kind come in the same order in every launch, whatever the
// scheduler does between them.
type stop struct {
	who  role
	call uint64
	nth  int
	done bool // the call has been made
}

func (s stop) String() string {
	when := "before"
	if s.done {
		when = "after"
	}
	return fmt.Sprintf("%s %s %s #%d", s.who, when, callName(s.call), s.nth)
}

// action is what happens at a stop.
type action struct {
	kill bool          // kill -9 the process that is there
	fail syscall.Errno // or let the call that was made seem to have failed
}

// tracer follows a launch and all its processes; one of them from call to call.
type tracer struct {
	victim  role // whose calls are visited
	visit   visitor
	onAgent func() // when the agent's own child runs
	bound   time.Duration

	first    int // pid of the supervisor
	threads  map[int]*thread
	procs    map[int]*process
	released bool
	acted    bool
	status   syscall.WaitStatus // of the supervisor
	left     []string           // what had not ended in time
}

type thread struct {
	proc   *process
	call   uint64
	args   [6]uint64
	inCall bool
	told   bool // its first stop was seen
}

type process struct {
	who   role
	count map[uint64]int
}

// run starts argv and follows it until it and everything it started is gone. It
// must be the only one that waits for children in this process, which is the
// first of its PID namespace and so inherits every orphan.
func (t *tracer) run(argv []string, attr *syscall.ProcAttr) error {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	if attr.Sys == nil {
		attr.Sys = &syscall.SysProcAttr{}
	}
	attr.Sys.Ptrace = true
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		return err
	}
	t.first, t.threads, t.procs = pid, map[int]*thread{}, map[int]*process{}
	t.left, err = within(cmp.Or(t.bound, wait.Patience), t.follow)
	return err
}

// within lets wait finish. When it does not in time, everything is killed, and
// what was still there is returned.
func within(d time.Duration, wait func() error) (left []string, err error) {
	expired := make(chan []string, 1)
	watch := time.AfterFunc(d, func() {
		left := processes()
		killAll()
		expired <- left
	})
	err = wait()
	if !watch.Stop() {
		left = <-expired
	}
	return left, err
}

func (t *tracer) follow() error {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err == syscall.ECHILD:
			return nil
		case err != nil:
			return err
		case ws.Stopped():
			t.stopped(pid, ws)
		default:
			delete(t.threads, pid)
			if pid == t.first {
				t.status = ws
			}
		}
	}
}

const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
	unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC

// stopped handles one stop. Errors of ptrace are dropped: the only one that can
// happen is that the thread was killed meanwhile, and then wait says so.
func (t *tracer) stopped(pid int, ws syscall.WaitStatus) {
	th, deliver := t.thread(pid), 0
	switch sig := ws.StopSignal(); {
	case sig == syscall.SIGTRAP|0x80:
		t.atCall(pid, th)
	case sig == syscall.SIGTRAP && (int(ws)>>16 == unix.PTRACE_EVENT_EXEC || !th.told):
		if !th.told { // the first of all: what it starts is followed from birth
			syscall.PtraceSetOptions(pid, options)
		} else if th.proc.who == other && nested(pid) && t.onAgent != nil {
			t.execInside(pid)
		}
	case int(ws)>>16 != 0, sig == syscall.SIGSTOP && !th.told:
	default:
		deliver = int(sig)
	}
	th.told = true
	if t.released {
		syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(deliver), 0, 0)
		return
	}
	if th.proc.who != t.victim { // nobody asks for its calls, and each costs two stops
		syscall.PtraceCont(pid, deliver)
		return
	}
	syscall.PtraceSyscall(pid, deliver)
}

// execInside tells when the agent has started its own child.
func (t *tracer) execInside(pid int) {
	if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.TrimSpace(string(comm)) == "sleep" {
		t.onAgent()
	}
}

func (t *tracer) atCall(pid int, th *thread) {
	var info syscallInfo
	if _, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(pid),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0); errno != 0 {
		return
	}
	th.inCall = info.Op == unix.PTRACE_SYSCALL_INFO_ENTRY
	if th.inCall {
		th.call, th.args = info.Nr, info.Args
		th.proc.count[th.call]++
	}
	if t.acted {
		return
	}
	act := t.visit(stop{th.proc.who, th.call, th.proc.count[th.call], !th.inCall}, th.args)
	switch {
	case act.kill:
		t.acted, t.released = true, true
		syscall.Kill(tgid(pid), syscall.SIGKILL)
	case act.fail != 0 && !th.inCall:
		t.acted, t.released = true, true
		setResult(pid, -int64(act.fail))
		t.onAgent() // should there be one in spite of it, nobody sees it start
	}
}

func (t *tracer) thread(pid int) *thread {
	if th := t.threads[pid]; th != nil {
		return th
	}
	group := tgid(pid)
	p := t.procs[group]
	if p == nil {
		p = &process{who: other, count: map[uint64]int{}}
		switch {
		case group == t.first:
			p.who = supervisor
		case firstOfSandbox(group):
			p.who = inside
		}
		t.procs[group] = p
	}
	th := &thread{proc: p}
	t.threads[pid] = th
	return th
}

// syscallInfo is the kernel's struct ptrace_syscall_info at the entry of a call.
type syscallInfo struct {
	Op     uint8
	_      [3]uint8
	Arch   uint32
	IP, SP uint64
	Nr     uint64
	Args   [6]uint64
	_      uint64
}
