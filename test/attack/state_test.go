package attack

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// state is the host as it must stay.
type state struct{ files, mounts map[string]string }

func (h *host) state() (state, error) {
	s := state{files: map[string]string{}, mounts: map[string]string{}}
	for _, top := range []string{"/etc", "/home", "/root", "/opt", "/srv", "/tmp", "/run", "/var", "/dev"} {
		if err := h.record(top, "", s.files); err != nil {
			return s, err
		}
	}
	if h.upper >= 0 {
		if err := h.record(fmt.Sprintf("/proc/self/fd/%d/", h.upper), "/usr/", s.files); err != nil {
			return s, err
		}
	}
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(info)) {
		s.mounts["mount "+strings.Fields(line)[4]] = strings.TrimSpace(line)
	}
	return s, nil
}

// record takes down every file below top. Not the workspace and what else the
// agent may change, nor ringfence's own state, nor times of directories: a listing shows
// better what came and went.
func (h *host) record(top, as string, files map[string]string) error {
	skip := []string{h.ws, h.home + "/given/rw", h.home + "/.local/state/ringfence", fmt.Sprintf("/run/user/%d/ringfence", h.req.UID),
		scratch, "/dev/pts"}
	if h.req.Group != "" { // the engine goes on coming up
		skip = append(skip, engineAt, "/etc/docker", "/opt/containerd", "/run/containerd", "/run/docker")
	}
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(skip, path) {
			return filepath.SkipDir
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		sys := st.Sys().(*syscall.Stat_t)
		what := fmt.Sprintf("%v %d:%d", st.Mode(), sys.Uid, sys.Gid)
		if !st.IsDir() && st.Mode()&os.ModeDevice == 0 {
			what += fmt.Sprintf(" %d bytes of %v, %d names", st.Size(), st.ModTime().UnixNano(), sys.Nlink)
		}
		if target, err := os.Readlink(path); err == nil {
			what += " to " + target
		}
		if as != "" {
			path = as + strings.TrimPrefix(path, top)
		}
		files[path] = what
		return nil
	})
}

// compare lists what differs, sorted.
func compare(before, after map[string]string) []string {
	var out []string
	for name, what := range after {
		if was, ok := before[name]; !ok {
			out = append(out, fmt.Sprintf("new: %q", name))
		} else if was != what {
			out = append(out, fmt.Sprintf("changed: %q was %s, is %s", name, was, what))
		}
	}
	for _, name := range slices.Collect(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			out = append(out, fmt.Sprintf("gone: %q", name))
		}
	}
	slices.Sort(out)
	return out
}

// processes lists what runs on this host but for its first process.
func processes() []string {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, e := range names {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has just ended
		}
		// "PID (NAME) STATE ...", where the name may hold anything.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " ")
		if strings.HasPrefix(rest, "Z") {
			continue // ended, and waits for us to ask
		}
		argv, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		first, _, _ := strings.Cut(string(argv), "\x00")
		if slices.Contains([]string{"dockerd", "containerd"}, filepath.Base(first)) {
			continue // the engine stays; what it started does not
		}
		out = append(out, fmt.Sprintf("process %d: %q", pid, argv))
	}
	return out
}
