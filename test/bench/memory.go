package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// memory adds up what the processes of ringfence itself take while an agent idles.
func (b *bench) memory() error {
	dir, err := b.workspace("empty", nil)
	if err != nil {
		return err
	}
	cmd := b.command(dir, b.inside(nil, "sh", "-c", "echo ready; read line")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer in.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		return fmt.Errorf("the agent said %q (%w)", line, err)
	}
	time.Sleep(settled)
	pids, err := family(cmd.Process.Pid)
	if err != nil {
		return err
	}
	total, each := 0, []string{}
	for _, pid := range pids {
		kib, err := pss(pid)
		if err != nil {
			return err
		}
		total += kib
		each = append(each, fmt.Sprintf("%.1f", float64(kib)/1024))
	}
	b.add("memory of ringfence while an agent idles", total <= 12<<10, "at most 12 MiB", "%.1f MiB PSS (%s)",
		float64(total)/1024, strings.Join(each, " + "))
	return nil
}

// family lists a process and those of its children that run the same program: PID 1
// inside, and the janitor where there is one. What PID 1 started is the agent's.
func family(pid int) ([]int, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	pids := []int{pid}
	for _, t := range tasks {
		data, err := os.ReadFile(t)
		if err != nil {
			return nil, err
		}
		for _, f := range strings.Fields(string(data)) {
			child, err := strconv.Atoi(f)
			if err != nil {
				return nil, err
			}
			pids = append(pids, child)
		}
	}
	return pids, nil
}

// pss is the proportional set size in KiB.
func pss(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "Pss:"); ok {
			return strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")))
		}
	}
	return 0, errors.New("smaps_rollup has no Pss")
}
