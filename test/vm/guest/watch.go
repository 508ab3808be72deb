package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/vm/serial"
)

// watch runs a supervisor whose agent says "ready", looks at its groups, ends it
// (by the end of the agent's input, or by SIGKILL to the supervisor) and looks
// again when everything that was part of it has ended.
func watch(args []string) error {
	ending, args := args[0], args[1:]
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if said, err := bufio.NewReader(stdout).ReadString('\n'); said != "ready\n" {
		return fmt.Errorf("the agent said %q: %w", said, errors.Join(err, cmd.Wait()))
	}
	w := serial.Watched{}
	if w.Groups, err = groups(); err != nil {
		return err
	}
	members, janitors, err := processes(w.Groups)
	if err != nil {
		return err
	}
	w.Members, w.Janitors = len(members), len(janitors)
	switch ending {
	case "end":
		err = stdin.Close()
	case "kill":
		err = cmd.Process.Kill()
	default:
		err = fmt.Errorf("no such ending: %q", ending)
	}
	if err != nil {
		return err
	}
	_ = cmd.Wait()
	w.Status = status(cmd.ProcessState)
	each := 0 // who ends in order leaves nothing for later
	if ending == "kill" {
		each = 10_000
	}
	w.Alive = await(append(members, janitors...), each)
	// systemd removes what is empty when it gets to it.
	end := time.Now().Add(10 * time.Second)
	for w.Left, err = groups(); len(w.Left) > 0 && ending == "kill" && time.Now().Before(end); w.Left, err = groups() {
		_, _ = unix.Poll(nil, 20)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(w)
}

// groups finds those of ringfence, wherever they are.
func groups() ([]serial.Group, error) {
	var found []serial.Group
	err := filepath.WalkDir(cgroups, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone in between
		}
		if err != nil {
			return err
		}
		if !d.IsDir() || !strings.HasPrefix(d.Name(), "ringfence-") {
			return nil
		}
		g := serial.Group{Parent: filepath.Join("/", strings.TrimPrefix(filepath.Dir(path), cgroups)), Name: d.Name()}
		for file, into := range map[string]*string{"pids.max": &g.Pids, "memory.max": &g.Memory, "memory.swap.max": &g.Swap} {
			b, err := os.ReadFile(filepath.Join(path, file))
			if errors.Is(err, unix.ENODEV) {
				return nil // being removed in this very moment
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			*into = strings.TrimSpace(string(b))
		}
		found = append(found, g)
		return nil
	})
	return found, err
}

// processes opens what is in the groups, and the janitors who look after them,
// wherever those are.
func processes(in []serial.Group) (members, janitors []int, err error) {
	for _, g := range in {
		b, err := os.ReadFile(filepath.Join(cgroups, g.Parent, g.Name, "cgroup.procs"))
		if err != nil {
			return nil, nil, err
		}
		for pid := range strings.FieldsSeq(string(b)) {
			if !janitor(pid) {
				members = append(members, pidfd(pid))
			}
		}
	}
	all, err := os.ReadDir("/proc")
	for _, d := range all {
		if janitor(d.Name()) {
			janitors = append(janitors, pidfd(d.Name()))
		}
	}
	return members, janitors, err
}

func janitor(pid string) bool {
	b, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")) // nothing where it is no process
	return bytes.HasPrefix(b, []byte("ringfence\x00__janitor\x00"))
}

// pidfd opens a process. One that cannot be opened is counted as alive.
func pidfd(pid string) int {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return -1
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err != nil {
		return -1
	}
	return fd
}

// await gives each so many milliseconds to end and returns how many have not.
func await(pidfds []int, each int) (alive int) {
	for _, fd := range pidfds {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, each)
		for errors.Is(err, unix.EINTR) {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, each)
		}
		if n != 1 {
			alive++
		}
	}
	return alive
}
