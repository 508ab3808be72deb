package native

import (
	"fmt"
	"maps"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// witness shows what was seen from inside and from outside.
func (s *sandbox) witness(m wire.Message) error {
	if s.hooks.Witness == nil {
		return nil
	}
	seen := rung.Seen{PID: s.pid, Root: s.root, Keyring: m.Keyring}
	for _, o := range m.Evidence {
		seen.Probes = append(seen.Probes, rung.Observation(o))
	}
	look := s.first.Look
	if look == nil {
		look = func() (map[string]string, error) { return Look(s.pid) }
	}
	var err error
	if seen.Outside, err = look(); err != nil {
		return err
	}
	return s.hooks.Witness(seen)
}

// root opens the root of the first process.
func (s *sandbox) root() (*os.File, error) {
	name := "/proc/" + strconv.Itoa(s.pid) + "/root"
	if s.first.Root == nil {
		return os.OpenFile(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	fd, err := unix.FcntlInt(s.first.Root.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Look is what the host's kernel shows of a process: its namespaces, its status and the
// kind of its root. The status is that of the thread that will fork the agent. The others
// are looked at from inside (probe.Threads): once a thread's name is in the host's proc,
// the kernel takes it out at the thread's end, and our wait for PID 1 would spin against
// that for up to a time slice.
func Look(pid int) (map[string]string, error) {
	out := map[string]string{}
	id := strconv.Itoa(pid)
	for _, kind := range probe.Kinds() {
		n, err := probe.Namespace(id, kind)
		if err != nil {
			return nil, fmt.Errorf("witness: %w", err)
		}
		out["ns."+kind] = strconv.FormatUint(n, 10)
	}
	status, err := Status(pid)
	if err != nil {
		return nil, err
	}
	maps.Copy(out, status)
	var st unix.Statfs_t
	if err := unix.Statfs("/proc/"+id+"/root", &st); err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	out["root"] = strconv.FormatInt(int64(st.Type), 16)
	if st.Type == unix.TMPFS_MAGIC {
		out["root"] = "tmpfs"
	}
	return out, nil
}

// Status is what the host's kernel tells everybody of a process.
func Status(pid int) (map[string]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	out := map[string]string{}
	for field, value := range probe.ParseStatus(b) {
		out["status."+field] = value
	}
	return out, nil
}
