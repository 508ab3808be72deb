package container

import "golang.org/x/sys/unix"

// podmanLimits are those of this process, and of processes no more than a machine usually has
// numbers for. Podman would else ask for the highest that it knows, and an engine which has no
// right to that (in a container itself, say) could start nothing. They bound nothing: the
// cgroup does.
func podmanLimits() (out []ulimit) {
	const mostProcesses = 32768
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		out = append(out, ulimit{"nofile", files.Cur, files.Max})
	}
	return append(out, ulimit{"nproc", mostProcesses, mostProcesses})
}
