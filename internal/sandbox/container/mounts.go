package container

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// asOrdered wants every mount of a container to be one that was ordered: an engine may have
// been told to add some to all of its containers. What the ordered ones show is compared
// by the first process inside.
func (v *view) asOrdered(pid int) error {
	there, err := mountsOf(fmt.Sprint(pid))
	if err != nil {
		return err
	}
	here, err := mountsOf("self")
	if err != nil {
		return err
	}
	return v.compare(there, here)
}

func mountsOf(process string) ([]probe.Mount, error) {
	b, err := os.ReadFile("/proc/" + process + "/mountinfo")
	if err != nil {
		return nil, err
	}
	return probe.ParseMounts(b)
}

// compare looks for a mount that nobody ordered. here are those of the host.
func (v *view) compare(there, here []probe.Mount) error {
	for _, m := range there {
		if v.ordered(m.Point) || engineMount(m) {
			continue
		}
		s := v.shareOf(m.Point)
		if s == nil || !slices.ContainsFunc(here, func(h probe.Mount) bool { return h.Point == s.Source+strings.TrimPrefix(m.Point, s.Target) }) {
			return fmt.Errorf("the engine has mounted something at %q, which nobody ordered", m.Point)
		}
		// The host has one there too: it came with the share.
		if s.ReadOnly && !slices.Contains(m.Options, "ro") {
			return fmt.Errorf("what is mounted at %q came with %q, and can be written", m.Point, s.Source)
		}
	}
	return nil
}

func (v *view) ordered(at string) bool {
	_, room := v.tmpfs[at]
	return room || slices.ContainsFunc(v.mounts, func(m mount) bool { return m.Target == at })
}

// shareOf is the innermost share that a path lies in; nil: it lies in none.
func (v *view) shareOf(at string) (found *mount) {
	for i, m := range v.mounts {
		if file.Within(at, m.Target) && (found == nil || len(m.Target) > len(found.Target)) {
			found = &v.mounts[i]
		}
	}
	return found
}

// engineMount holds for what an engine mounts by itself. What it has of /sys lies below ours,
// which is empty. What covers a part of /proc tells nothing.
func engineMount(m probe.Mount) bool {
	switch m.Point {
	case "/", "/proc", "/dev", stagePath, linkPath:
		return true
	case "/dev/pts":
		return m.Type == "devpts"
	case "/dev/mqueue":
		return m.Type == "mqueue"
	}
	if file.Within(m.Point, "/proc") {
		return m.Type == "proc" || m.Type == "tmpfs" && (m.Root == "/" || m.Root == "/null")
	}
	return file.Within(m.Point, "/sys")
}
