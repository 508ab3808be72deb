package native

import (
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Freeze stops every process of the sandbox but its first, which is ours. Processes
// may be born while it looks: it looks until all that there are stand still.
func (s *sandbox) Freeze() error {
	tick := time.NewTicker(5 * time.Millisecond) // what was told to stop does so when it is next scheduled
	defer tick.Stop()
	began := time.Now()
	for ; time.Since(began) < 5*time.Second; <-tick.C {
		list, err := sys.Below(s.pid)
		if err != nil {
			return err
		}
		moving, deep := unsettled(list)
		for _, p := range moving {
			if err := p.Signal(unix.SIGSTOP); err != nil {
				return err
			}
		}
		if len(moving) == 0 || deep && time.Since(began) > deepFor {
			return nil
		}
	}
	return errors.New("some of its processes do not stand still")
}

// deepFor is how long a process may take to come out of the kernel. One that was told to stop
// and is still there (a slow disk, a parent in vfork) stops before it runs anything of its own.
// Left at risk: what it asked the kernel for before, such as one write, may still be done.
const deepFor = time.Second

// unsettled lists what does not stand still. deep: all of it waits in the kernel.
func unsettled(list []sys.Process) (moving []sys.Process, deep bool) {
	deep = true
	for _, p := range list {
		if !strings.ContainsRune("TtZX", rune(p.State)) {
			moving, deep = append(moving, p), deep && p.State == 'D'
		}
	}
	return moving, deep
}

// Thaw lets them go on.
func (s *sandbox) Thaw() error {
	list, err := sys.Below(s.pid)
	for _, p := range list {
		err = errors.Join(err, p.Signal(unix.SIGCONT))
	}
	return err
}
