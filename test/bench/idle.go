package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// settled is when a session has given back what its start needed.
const settled = 7 * time.Second

// idle measures what fifty sessions use of a processor while their agents wait, with the
// gate open.
func (b *bench) idle() error {
	const sessions, watched = 50, 20 * time.Second
	dir, err := b.workspace("empty", nil)
	if err != nil {
		return err
	}
	var all []*exec.Cmd
	defer func() {
		for _, cmd := range all {
			cmd.Process.Signal(os.Interrupt)
			cmd.Wait()
		}
	}()
	for range sessions {
		cmd := b.command(dir, b.inside(nil, "sh", "-c", "sleep 600")...)
		if err := cmd.Start(); err != nil {
			return err
		}
		all = append(all, cmd)
	}
	time.Sleep(4 * settled) // they start all at once, and the gate looks less and less often for servers
	var pids []int
	for _, cmd := range all {
		some, err := family(cmd.Process.Pid)
		if err != nil {
			return err
		}
		pids = append(pids, some...)
	}
	used, err := processorTime(pids)
	if err != nil {
		return err
	}
	time.Sleep(watched)
	now, err := processorTime(pids)
	if err != nil {
		return err
	}
	share := 100 * float64(now-used) / float64(watched)
	b.add(fmt.Sprintf("%d idle sessions", sessions), share <= 2, "at most 2 % of a core", "%.1f %% of a core", share)
	return nil
}

// processorTime is what all threads of some processes used so far.
func processorTime(pids []int) (sum time.Duration, err error) {
	for _, pid := range pids {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil {
			return 0, err
		}
		if len(threads) == 0 {
			return 0, fmt.Errorf("process %d is gone", pid)
		}
		for _, t := range threads {
			data, err := os.ReadFile(t)
			if err != nil {
				continue // a thread that has ended meanwhile
			}
			first, _, _ := strings.Cut(string(data), " ")
			n, err := strconv.ParseInt(first, 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n)
		}
	}
	return sum, nil
}
