package cgroup

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Events counts what the limits did.
type Events struct {
	OOMKills int64 // processes killed for want of memory
	Limit    bool  // it was at the session's own limit, and not at one around it
	Refused  int64 // forks refused at the pids limit
}

// Events reads the counters. It is to be called before Close; what cannot be
// read counts as nothing.
func (g *Group) Events() Events { return eventsIn(g.dirs()) }

// Groups are those that a process is in, and that somebody else made for it.
type Groups []string

// GroupsOf looks for them. Groups that are ours too tell nothing of it.
func GroupsOf(pid int) Groups { return hostSystem().groupsOf(pid) }

// Events reads their counters, as long as they are there.
func (g Groups) Events() Events { return eventsIn(g) }

func (s system) groupsOf(pid int) Groups {
	theirs, err := s.lookAt(strconv.Itoa(pid))
	ours, err2 := s.look()
	if err != nil || err2 != nil {
		return nil
	}
	own := ours.counted()
	return slices.DeleteFunc(theirs.counted(), func(dir string) bool { return slices.Contains(own, dir) })
}

// counted are the directories in which the kernel counts.
func (v view) counted() (dirs []string) {
	if dir, _, ok := v.v2(); ok {
		dirs = append(dirs, dir)
	}
	for _, controller := range []string{"memory", "pids"} {
		if dir, ok := v.v1(controller); ok && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Add sums up.
func (e Events) Add(o Events) Events {
	return Events{OOMKills: e.OOMKills + o.OOMKills, Limit: e.Limit || o.Limit, Refused: e.Refused + o.Refused}
}

func eventsIn(dirs []string) Events {
	var e Events
	for _, dir := range dirs {
		// v2 has memory.events, v1 keeps the same word in memory.oom_control.
		e.OOMKills += counter(dir, "memory.events", "oom_kill") + counter(dir, "memory.oom_control", "oom_kill")
		e.Limit = e.Limit || counter(dir, "memory.events", "oom") > 0 || wasFull(dir)
		e.Refused += counter(dir, "pids.events", "max")
	}
	return e
}

// wasFull holds for a group of v1 that was at its limit, as good as: its counters of
// failures miss those of memory and swap together. (v2 counts the times that the group
// itself had no memory left.) A machine without memory kills in groups that were not.
func wasFull(dir string) bool {
	limit, most := number(dir, "memory.limit_in_bytes"), number(dir, "memory.max_usage_in_bytes")
	return limit > 0 && most >= limit-limit/16
}

func number(dir, file string) int64 {
	b, err := read(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return n
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
