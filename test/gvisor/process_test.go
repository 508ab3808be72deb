package gvisor

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// process is one below a supervisor.
type process struct {
	pid, parent int
	argv, born  string
	status      map[string]string
}

// below lists the processes of a session, without the supervisor.
func below(t *testing.T, root int) (out []process) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int][]process{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := read(pid); ok {
				all[p.parent] = append(all[p.parent], p)
			}
		}
	}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range all[next[0]] {
			out, next = append(out, p), append(next, p.pid)
		}
	}
	return out
}

// sandbox lists PID 1 of a session's sandbox and the processes below it.
func sandbox(t *testing.T, supervisor int) []process {
	t.Helper()
	for _, p := range below(t, supervisor) {
		if p.argv == "ringfence-inside" {
			return append([]process{p}, below(t, p.pid)...)
		}
	}
	t.Fatal("there is no PID 1")
	return nil
}

func read(pid int) (process, bool) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	argv, err2 := os.ReadFile(dir + "cmdline")
	stat, err3 := os.ReadFile(dir + "stat")
	i := strings.LastIndexByte(string(stat), ')')
	if err != nil || err2 != nil || err3 != nil || i < 0 {
		return process{}, false
	}
	name, _, _ := strings.Cut(string(argv), "\x00")
	p := process{pid: pid, argv: name, status: map[string]string{}, born: strings.Fields(string(stat[i+1:]))[19]}
	for line := range strings.Lines(string(status)) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			p.status[k] = strings.TrimSpace(v)
		}
	}
	p.parent, err = strconv.Atoi(p.status["PPid"])
	return p, err == nil
}

// lives holds for this very process, until it is a zombie.
func (p process) lives() bool {
	now, ok := read(p.pid)
	return ok && now.born == p.born && !strings.HasPrefix(now.status["State"], "Z")
}

func (p process) caps(t *testing.T, set string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(p.status[set], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// start begins what a person sits at.
func (p *person) start() {
	p.f.t.Helper()
	var err error
	if p.tty, err = pty.StartWithSize(p.cmd, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		p.f.t.Fatal(err)
	}
	p.f.t.Cleanup(func() { p.cmd.Process.Kill(); p.tty.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := p.tty.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if bytes.Contains(buf[:n], []byte("\x1b[5n")) { // a terminal says that it is well; who gives it back waits for that
				p.tty.WriteString("\x1b[0n")
			}
			if err != nil {
				return
			}
		}
	}()
}
