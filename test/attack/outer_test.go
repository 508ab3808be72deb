package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"ringfence.dev/ringfence/test/wait"
)

// outer is a limit of the suite's own around everything it starts, so that a
// case about resources cannot take the machine down when its wall is missing.
// Below it every run has a group of its own, which shows what a run left behind.
type outer struct {
	name    string
	dirs    []string
	engines atomic.Int32
}

// Bounds for all runs together; the cases ask for far less.
const (
	outerPids   = "3000"
	outerMemory = "6442450944"
)

// newOuter makes the limit: root has cgroups. An ordinary user has the limits of
// his session, which are not ours to choose; the probes bound themselves besides.
func newOuter() (*outer, error) {
	o := &outer{}
	if os.Getuid() != 0 {
		return o, nil
	}
	name := fmt.Sprintf("attack-suite-%d", os.Getpid())
	o.name = name
	files := map[string]string{ // v1
		"/sys/fs/cgroup/pids/" + name + "/pids.max":                outerPids,
		"/sys/fs/cgroup/memory/" + name + "/memory.limit_in_bytes": outerMemory,
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil { // v2
		files = map[string]string{"/sys/fs/cgroup/" + name + "/pids.max": outerPids}
	}
	for path, value := range files {
		dir := filepath.Dir(path)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("outer limit: %w", err), o.close())
		}
		o.dirs = append(o.dirs, dir)
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return nil, errors.Join(fmt.Errorf("outer limit: %w", err), o.close())
		}
	}
	return o, nil
}

// engine names a cgroup for the containers of one run.
func (o *outer) engine() string { return fmt.Sprintf("%s/engine-%d", o.name, o.engines.Add(1)) }

func (o *outer) close() error { return removeGroups(o.dirs) }

// group is the share of one run.
type group struct{ dirs []string }

// add makes a group for a run whose first process is pid.
func (o *outer) add(pid int) (group, error) {
	var g group
	for _, dir := range o.dirs {
		dir = filepath.Join(dir, fmt.Sprint(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return g, fmt.Errorf("outer limit: %w", err)
		}
		g.dirs = append(g.dirs, dir)
		if err := os.WriteFile(dir+"/cgroup.procs", fmt.Append(nil, pid), 0); err != nil {
			return g, fmt.Errorf("outer limit: %w", err)
		}
	}
	return g, nil
}

// close removes the group, which fails if a run left one of its own in it.
func (g group) close() error { return removeGroups(g.dirs) }

// removeGroups is patient: all processes have ended, but the kernel takes them out
// of their group a moment later.
func removeGroups(dirs []string) error {
	for _, dir := range dirs {
		var err error
		if !wait.For(func() bool { err = os.Remove(dir); return !errors.Is(err, syscall.EBUSY) }) || err != nil {
			left, _ := filepath.Glob(dir + "/*/")
			return fmt.Errorf("cgroup left behind, with %q: %w", left, err)
		}
	}
	return nil
}
