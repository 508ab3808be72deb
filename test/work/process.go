package work

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Process is one of this kernel's.
type Process struct {
	PID, Parent int
	Argv, born  string
	Status      map[string]string
}

// Processes lists those that there are.
func Processes(t *testing.T) (out []Process) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := read(pid); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// Below lists the processes below one.
func Below(t *testing.T, root int) (out []Process) {
	t.Helper()
	all := map[int][]Process{}
	for _, p := range Processes(t) {
		all[p.Parent] = append(all[p.Parent], p)
	}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range all[next[0]] {
			out, next = append(out, p), append(next, p.PID)
		}
	}
	return out
}

func read(pid int) (Process, bool) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	argv, err2 := os.ReadFile(dir + "cmdline")
	stat, err3 := os.ReadFile(dir + "stat")
	i := strings.LastIndexByte(string(stat), ')')
	if err != nil || err2 != nil || err3 != nil || i < 0 {
		return Process{}, false
	}
	name, _, _ := strings.Cut(string(argv), "\x00")
	p := Process{PID: pid, Argv: name, Status: map[string]string{}, born: strings.Fields(string(stat[i+1:]))[19]}
	for line := range strings.Lines(string(status)) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			p.Status[k] = strings.TrimSpace(v)
		}
	}
	p.Parent, err = strconv.Atoi(p.Status["PPid"])
	return p, err == nil
}

// Lives holds for this very process, until it is a zombie.
func (p Process) Lives() bool {
	now, ok := read(p.PID)
	return ok && now.born == p.born && !strings.HasPrefix(now.Status["State"], "Z")
}

// Caps is one of its sets of capabilities.
func (p Process) Caps(t *testing.T, set string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(p.Status[set], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func kill(pid int) error { return unix.Kill(pid, unix.SIGKILL) }
