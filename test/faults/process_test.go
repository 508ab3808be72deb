package faults

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// pids lists every process of the stage but this one, which is its first.
func pids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid > 1 {
			out = append(out, pid)
		}
	}
	return out
}

// processes describes what runs on the stage.
func processes() []string {
	var out []string
	for _, pid := range pids() {
		if cmd, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
			out = append(out, fmt.Sprintf("process %d %s %q", pid, field(pid, "Name"), strings.TrimRight(string(cmd), "\x00")))
		}
	}
	return out
}

// killAll ends everything but ourselves. A tree that forks meanwhile is met again.
func killAll() {
	for range 100 {
		left := pids()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// field is a line of /proc/PID/status, which anybody may read.
func field(pid int, name string) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func tgid(pid int) int {
	n, _ := strconv.Atoi(field(pid, "Tgid"))
	return n
}

// nested reports whether a process lives in a PID namespace below ours.
func nested(pid int) bool { return len(strings.Fields(field(pid, "NSpid"))) > 1 }

func firstOfSandbox(pid int) bool {
	ids := strings.Fields(field(pid, "NSpid"))
	return len(ids) > 1 && ids[len(ids)-1] == "1"
}
