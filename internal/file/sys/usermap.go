package sys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// IDs are the numbers of a user and of a group.
type IDs struct{ UID, GID int }

// MapUser gives the user namespace of a child its one user and its one group. proc is a
// directory of procfs that can be written; the one that a sandbox shows cannot.
func MapUser(proc, pid int, inside, outside IDs) error {
	for _, m := range []struct{ name, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1", inside.UID, outside.UID)},
		{"gid_map", fmt.Sprintf("%d %d 1", inside.GID, outside.GID)},
	} {
		fd, err := unix.Openat(proc, fmt.Sprintf("%d/%s", pid, m.name), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte(m.text))
			unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", m.name, err)
		}
	}
	return nil
}
