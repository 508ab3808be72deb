package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// planV2 finds a place for our group in the v2 hierarchy: below our own group,
// or beside it. Below works only at the real root, because any other group that
// has processes in it cannot hand controllers to its children ("no internal
// processes"). Beside works where whoever started us keeps its processes in a
// leaf, as a delegated subtree should.
func (s system) planV2(v view, name string, want Limits, r *Report) (part, bool) {
	own, top, ok := v.v2()
	if !ok {
		r.refuse(want, "cgroup v2: not mounted")
		return part{}, false
	}
	bases := []string{own}
	if own != top {
		bases = append(bases, filepath.Dir(own))
	}
	var why error
	for _, base := range bases {
		p, err := s.tryBase(base, base == top, want)
		if err != nil {
			why = err
			continue
		}
		p.dir = filepath.Join(base, name)
		if missing := want.without(p.limits); missing != (Limits{}) {
			r.refuse(missing, "cgroup v2: "+errNoController.Error())
		}
		return p, true
	}
	r.refuse(want, "cgroup v2: "+cause(why))
	return part{}, false
}

var (
	errNoController = errors.New("controller not available here")
	errNotWritable  = errors.New("own group is not delegated to us")
	errSystemd      = errors.New("this part of the tree is systemd's own")
	errBusy         = errors.New("own group has processes, so it cannot have limited children")
)

func (s system) tryBase(base string, isTop bool, want Limits) (part, error) {
	if !writable(base) || !writable(filepath.Join(base, "cgroup.procs")) {
		return part{}, errNotWritable
	}
	// A slice is never delegated, and neither is the root where systemd is init:
	// a second writer there would fight the first. A scope is asked for instead.
	_, err := os.Stat(s.booted)
	if strings.HasSuffix(base, ".slice") || isTop && err == nil {
		return part{}, errSystemd
	}
	on, err := words(base, "cgroup.subtree_control")
	if err != nil {
		return part{}, err
	}
	has, err := words(base, "cgroup.controllers")
	if err != nil {
		return part{}, err
	}
	p := part{by: V2}
	offer := func(controller string, limit int64, into *int64) {
		if limit == 0 || !slices.Contains(has, controller) {
			return
		}
		*into = limit
		if !slices.Contains(on, controller) {
			p.enable = append(p.enable, controller)
		}
	}
	offer("pids", want.Pids, &p.limits.Pids)
	offer("memory", want.Memory, &p.limits.Memory)
	if p.limits == (Limits{}) {
		return part{}, errNoController
	}
	if len(p.enable) > 0 && bearsProcesses(base) {
		return part{}, errBusy
	}
	return p, nil
}

// bearsProcesses reports whether dir holds processes and is not the real root,
// which alone is free from the rule and alone has no cgroup.type. What stands at
// the top of a container's view is not the real root.
func bearsProcesses(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); err != nil {
		return false
	}
	b, err := read(filepath.Join(dir, "cgroup.procs"))
	return err != nil || len(b) > 0
}

func words(dir, file string) ([]string, error) {
	b, err := read(filepath.Join(dir, file))
	return strings.Fields(string(b)), err
}

// enable switches controllers on for the children of our parent. It stays so:
// another session may rely on it by the time this one ends.
func enable(p part) error {
	if len(p.enable) == 0 {
		return nil
	}
	return write(filepath.Dir(p.dir), "cgroup.subtree_control", "+"+strings.Join(p.enable, " +"))
}
