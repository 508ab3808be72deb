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
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); <-tick.C {
		list, err := sys.Below(s.pid)
		if err != nil {
			return err
		}
		moving := 0
		for _, p := range list {
			if strings.ContainsRune("TtZX", rune(p.State)) {
				continue
			}
			moving++
			if err := p.Signal(unix.SIGSTOP); err != nil {
				return err
			}
		}
		if moving == 0 {
			return nil
		}
	}
	return errors.New("some of its processes do not stand still")
}

// Thaw lets them go on.
func (s *sandbox) Thaw() error {
	list, err := sys.Below(s.pid)
	for _, p := range list {
		err = errors.Join(err, p.Signal(unix.SIGCONT))
	}
	return err
}
