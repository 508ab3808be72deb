package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/dockerd"
)

const cgroups = "/sys/fs/cgroup"

// places names where a stage's group goes: its name, below or beside our own.
// On v2 the stage needs a leaf in it, because a group with processes cannot
// hand limits to its children. Nothing where the tree is not ours to change.
func places(name string) (tops []string, leaf string) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || os.Getuid() != 0 {
		return nil, ""
	}
	_, err = os.Stat(cgroups + "/cgroup.controllers")
	v2 := err == nil
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case v2 && f[1] == "":
			return []string{filepath.Join(cgroups, filepath.Dir(f[2]), name)}, "leaf"
		case !v2 && slices.Contains([]string{"pids", "memory"}, f[1]):
			tops = append(tops, filepath.Join(cgroups, f[1], f[2], name))
		}
	}
	return tops, ""
}

// makeGroups makes the stage's groups and enters them.
func makeGroups(name string) ([]string, error) {
	tops, leaf := places(name)
	for _, top := range tops {
		if err := os.MkdirAll(filepath.Join(top, leaf), 0o755); err != nil {
			return nil, nil // a container's read-only tree: there are no groups here
		}
		bound(top)
		if err := os.WriteFile(filepath.Join(top, leaf, "cgroup.procs"), []byte("0"), 0); err != nil {
			return nil, fmt.Errorf("enter group: %w", err)
		}
	}
	return tops, nil
}

// bound puts a limit around everything that plays on the stage, where the group can
// have one: a limit of a session that does not hold must not use up the machine.
func bound(top string) {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return
	}
	half := strconv.FormatUint(info.Totalram/2*uint64(info.Unit), 10)
	for file, value := range map[string]string{"memory.max": half, "memory.swap.max": "0", "memory.limit_in_bytes": half, "pids.max": "16384"} {
		// A file that is not there is another version's, or another controller's.
		if f, err := os.OpenFile(filepath.Join(top, file), os.O_WRONLY, 0); err == nil {
			f.WriteString(value)
			f.Close()
		}
	}
}

// removeGroups removes them when the stage has ended, and says what of a session
// was still in them.
func removeGroups(name string) error {
	tops, leaf := places(name)
	var errs []error
	for _, top := range tops {
		left, _ := filepath.Glob(filepath.Join(top, "ringfence-*"))
		for _, dir := range left {
			errs = append(errs, fmt.Errorf("group left behind: %s", dir))
		}
		for _, dir := range slices.Compact(append(left, filepath.Join(top, leaf), top)) {
			if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(append(errs, dockerd.RemoveGroup(name+engineGroup))...)
}

// engineGroup ends the name of the group of a container engine on the stage.
const engineGroup = "-engine"

// Tops are the groups that were made for the stage; an ordinary user may be in
// them but not change them.
func Tops() []string {
	return strings.FieldsFunc(os.Getenv(groupsEnv), func(r rune) bool { return r == ':' })
}

// Groups lists what there is in the stage's groups beside the stage itself. An
// ordinary user has no group of his own to look at: for him it is what carries
// our name beside and below his own.
func Groups() []string {
	var patterns []string
	for _, top := range Tops() {
		patterns = append(patterns, top+"/ringfence-*", top+"/*/ringfence-*")
	}
	if os.Getuid() != 0 {
		data, _ := os.ReadFile("/proc/self/cgroup")
		for line := range strings.Lines(string(data)) {
			f := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(f) == 3 {
				own := filepath.Join(cgroups, strings.TrimPrefix(f[1], "name="), f[2])
				patterns = append(patterns, own+"/ringfence-*", filepath.Dir(own)+"/ringfence-*")
			}
		}
	}
	var found []string
	for _, p := range patterns {
		dirs, _ := filepath.Glob(p)
		for _, dir := range dirs {
			var st unix.Stat_t
			if unix.Stat(dir, &st) == nil && int(st.Uid) == os.Getuid() {
				found = append(found, dir)
			}
		}
	}
	return found
}
