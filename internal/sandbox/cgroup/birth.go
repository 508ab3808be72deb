package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Within has fork start a process from the calling thread such that it is born in
// the group and never outside, not for an instant. On v2 fork gets the descriptor
// for SysProcAttr.CgroupFD, else -1; on v1 the thread itself goes in and comes back,
// so the caller must be locked to it. Where the group stands in the way fork is called
// once more, and it is left to Join to move the process and to say why it cannot. Join alone would
// do, but to move what lives already the kernel waits for all processors: that takes
// milliseconds, more than all mounts of a launch.
func (g *Group) Within(fork func(fd int) error) error {
	if len(g.parts) == 0 {
		return fork(-1)
	}
	g.born = false
	back, err := g.enter()
	if err == nil {
		if err = fork(g.fd); err != nil && g.fd < 0 {
			return errors.Join(err, back()) // not the group's fault: once more would not help
		}
	}
	g.born = err == nil
	if err := back(); err != nil {
		return err // the caller ends what was born: we would end with it
	}
	if g.born {
		return nil
	}
	return fork(-1)
}

// enter puts the calling thread into the groups of v1.
func (g *Group) enter() (back func() error, err error) {
	var in []part
	back = func() error {
		var errs []error
		for _, p := range in {
			if err := write(filepath.Dir(p.dir), "tasks", "0"); err != nil {
				errs = append(errs, fmt.Errorf("%s: leave: %w", p.by, err))
			}
		}
		return errors.Join(errs...)
	}
	for _, p := range g.parts {
		if p.by != V1 {
			continue
		}
		if err := write(p.dir, "tasks", "0"); err != nil {
			return back, fmt.Errorf("%s: enter: %w", p.by, err)
		}
		in = append(in, p)
	}
	return back, nil
}
