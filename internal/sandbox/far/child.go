package far

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a far end that is a child of this process.
type child struct {
	*os.File
	pidfd int
	gone  chan struct{}
	once  sync.Once
}

// Child starts a far end as a child of this process, in a session of its own and over a pair
// of sockets. Its layers lie in dir, which it removes. It dies with the thread that started
// it.
func Child(b Begin, dir string) (end End, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return End{}, err
	}
	defer null.Close()
	return b.fork(func(group int) (End, error) {
		return Program("/proc/self/exe", []string{Name, dir}, childEnv(), null, group)
	})
}

// fork starts a process under the limits.
func (b Begin) fork(start func(group int) (End, error)) (end End, err error) {
	within := b.Within
	if within == nil {
		within = func(fork func(int) error) error { return fork(-1) }
	}
	err = within(func(group int) (err error) {
		end, err = start(group)
		return err
	})
	if err == nil && b.Join != nil {
		err = b.Join(end.PID)
	}
	if err != nil && end.ReadWriteCloser != nil {
		end.Close()
		end = End{}
	}
	return end, err
}

// Program starts one that is a far end, or leads to one, by its standard input and output:
// as a child of this process, in a session of its own and over a pair of sockets. It dies
// with the thread that started it. group is a cgroup, -1 for none.
func Program(path string, argv, env []string, stderr *os.File, group int) (End, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return End{}, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "far end")
	defer theirs.Close()
	unix.SetNonblock(fds[0], true) // so that Close ends a Read
	c := &child{File: os.NewFile(uintptr(fds[0]), "link"), pidfd: -1, gone: make(chan struct{})}
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL, UseCgroupFD: group >= 0, CgroupFD: group, PidFD: &c.pidfd}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: "/", Env: env,
		Files: []uintptr{theirs.Fd(), theirs.Fd(), stderr.Fd()}, Sys: attr})
	if err != nil {
		c.File.Close()
		return End{}, err
	}
	go c.reap(pid)
	return End{ReadWriteCloser: c, PID: pid}, nil
}

func (c *child) reap(pid int) {
	defer close(c.gone)
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}

// leaves is how long a far end may take to end its sandbox by itself.
const leaves = time.Second

// Close ends the link. The far end sees that and leaves; one that does not is killed, and
// the kernel ends what it started.
func (c *child) Close() error {
	c.once.Do(func() {
		c.File.Close()
		select {
		case <-c.gone:
		case <-time.After(leaves):
			unix.PidfdSendSignal(c.pidfd, unix.SIGKILL, nil, 0)
			<-c.gone
		}
		unix.Close(c.pidfd)
	})
	return nil
}
