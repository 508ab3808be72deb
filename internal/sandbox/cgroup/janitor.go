package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/self"
)

// JanitorArg is the first argument by which main knows the janitor.
const JanitorArg = "__janitor"

// Janitor is a process that tidies up when the supervisor cannot. It holds the read end
// of a pipe whose only write end is ours: however we die, it reads end of file.
type Janitor struct {
	proc *os.Process
	pipe *os.File
}

func startJanitor(parts []part) (*Janitor, error) {
	args := []string{JanitorArg}
	for _, p := range parts {
		args = append(args, p.dir)
	}
	return StartJanitor(self.Path(), args...)
}

// StartJanitor starts a program of ours with these arguments, of which the first is by what
// main knows what there is to tidy up. It begins with AwaitEnd.
func StartJanitor(program string, args ...string) (*Janitor, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("janitor: %w", err)
	}
	defer r.Close()
	proc, err := os.StartProcess(program, append([]string{"ringfence"}, args...), &os.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1"}, // nothing of ours, and few threads
		Files: []*os.File{r},
		Sys:   &syscall.SysProcAttr{Setsid: true}, // a Ctrl-C is not meant for it
	})
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("janitor: %w", err)
	}
	return &Janitor{proc: proc, pipe: w}, nil
}

func (j *Janitor) pid() int { return j.proc.Pid }

// Stop lets the janitor go and waits until it has gone. It may have been killed,
// which is no concern of ours any more.
func (j *Janitor) Stop() {
	_, _ = j.pipe.Write([]byte{0})
	j.pipe.Close()
	_, _ = j.proc.Wait()
}

// AwaitEnd returns when the supervisor has let the janitor go, or has ended: then it was
// not told to.
func AwaitEnd() (told bool) {
	sys.SetName("ringfence")
	// Whoever ends the supervisor politely must not end its janitor first.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	time.AfterFunc(time.Second, sys.GiveBack)
	var b [1]byte
	for {
		n, err := unix.Read(0, b[:])
		if n == 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return told
		}
		told = told || n > 0
	}
}

// JanitorMain is the janitor of groups: it removes those named by args and returns the
// exit status. In a scope there are no args: it only keeps the group alive until its
// counters have been read.
func JanitorMain(args []string) int {
	AwaitEnd()
	status := 0
	for _, dir := range args {
		if !ours(dir) || remove(dir, unix.Rmdir) != nil {
			status = 1
		}
	}
	return status
}

// ours keeps the janitor from removing anything but a group of ringfence, or
// what has been removed already.
func ours(dir string) bool {
	if !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), "ringfence-") {
		return false
	}
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	if err != nil {
		return errors.Is(err, unix.ENOENT)
	}
	return st.Type == unix.CGROUP_SUPER_MAGIC || st.Type == unix.CGROUP2_SUPER_MAGIC
}
