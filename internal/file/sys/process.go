package sys

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process is one that /proc showed.
type Process struct {
	PID, parent int
	State       byte
	born        string // in ticks; tells it from a later one of the same number
}

// Signal reaches this very process or none.
func (p Process) Signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := processAt(p.PID); !ok || now.born != p.born {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, s, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// Below lists all processes below one.
func Below(root int) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]Process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := processAt(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var out []Process
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			out = append(out, p)
			next = append(next, p.PID)
		}
	}
	return out, nil
}

// processAt reads /proc/PID/stat. The name in it may hold anything, also parentheses.
func processAt(pid int) (Process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, false
	}
	i := strings.LastIndexByte(string(b), ')')
	if i < 0 {
		return Process{}, false
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 20 || len(f[0]) != 1 {
		return Process{}, false
	}
	parent, err := strconv.Atoi(f[1])
	return Process{PID: pid, parent: parent, State: f[0][0], born: f[19]}, err == nil
}
