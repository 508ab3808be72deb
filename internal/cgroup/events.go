package cgroup

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Events counts what the limits did.
type Events struct {
	OOMKills int64 // processes killed at the memory limit
	Refused  int64 // forks refused at the pids limit
}

// Events reads the counters. It is to be called before Close; what cannot be
// read counts as nothing.
func (g *Group) Events() Events {
	var e Events
	for _, dir := range g.dirs() {
		// v2 has memory.events, v1 keeps the same word in memory.oom_control.
		e.OOMKills += counter(dir, "memory.events", "oom_kill") + counter(dir, "memory.oom_control", "oom_kill")
		e.Refused += counter(dir, "pids.events", "max")
	}
	return e
}

func counter(dir, file, key string) int64 {
	b, err := read(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	for line := range lines(string(b)) {
		k, v, _ := strings.Cut(line, " ")
		if k != key {
			continue
		}
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return 0
}
