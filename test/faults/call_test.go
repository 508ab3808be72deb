package faults

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/stage"
)

// effects are the calls that change something outside the process that makes
// them, or wait for somebody else: the steps of a launch.
var effects = map[uint64]string{
	unix.SYS_CLONE: "clone", unix.SYS_CLONE3: "clone3", unix.SYS_EXECVE: "execve", unix.SYS_EXIT_GROUP: "exit_group",
	unix.SYS_WAIT4: "wait4", unix.SYS_WAITID: "waitid", unix.SYS_KILL: "kill", unix.SYS_SETSID: "setsid",

	unix.SYS_MKDIRAT: "mkdirat", unix.SYS_MKNODAT: "mknodat", unix.SYS_SYMLINKAT: "symlinkat", unix.SYS_UNLINKAT: "unlinkat",
	unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat2", unix.SYS_LINKAT: "linkat", unix.SYS_UTIMENSAT: "utimensat",
	unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHMODAT: "fchmodat", unix.SYS_FLOCK: "flock", unix.SYS_FSYNC: "fsync", unix.SYS_WRITE: "write",

	unix.SYS_PIPE2: "pipe2", unix.SYS_SOCKETPAIR: "socketpair", unix.SYS_SENDMSG: "sendmsg", unix.SYS_RECVMSG: "recvmsg",
	unix.SYS_DUP3: "dup3", unix.SYS_CLOSE_RANGE: "close_range", unix.SYS_READ: "read", unix.SYS_OPENAT2: "openat2",

	unix.SYS_UNSHARE: "unshare", unix.SYS_SETHOSTNAME: "sethostname", unix.SYS_IOCTL: "ioctl", unix.SYS_KEYCTL: "keyctl",
	unix.SYS_FSOPEN: "fsopen", unix.SYS_FSCONFIG: "fsconfig", unix.SYS_FSMOUNT: "fsmount", unix.SYS_OPEN_TREE: "open_tree",
	unix.SYS_MOVE_MOUNT: "move_mount", unix.SYS_MOUNT_SETATTR: "mount_setattr", unix.SYS_PIVOT_ROOT: "pivot_root",
	unix.SYS_UMOUNT2: "umount2", unix.SYS_CHDIR: "chdir", unix.SYS_FCHDIR: "fchdir",

	unix.SYS_PRCTL: "prctl", unix.SYS_PRLIMIT64: "prlimit64", unix.SYS_CAPSET: "capset", unix.SYS_SECCOMP: "seccomp",
	unix.SYS_LANDLOCK_CREATE_RULESET: "landlock_create_ruleset", unix.SYS_LANDLOCK_ADD_RULE: "landlock_add_rule",
	unix.SYS_LANDLOCK_RESTRICT_SELF: "landlock_restrict_self",
}

// noise are the calls of the Go runtime: how many there are and where they fall
// depends on the scheduler.
var noise = map[uint64]bool{
	unix.SYS_FUTEX: true, unix.SYS_NANOSLEEP: true, unix.SYS_SCHED_YIELD: true, unix.SYS_EPOLL_PWAIT: true,
	unix.SYS_RT_SIGACTION: true, unix.SYS_RT_SIGPROCMASK: true, unix.SYS_RT_SIGRETURN: true, unix.SYS_SIGALTSTACK: true,
	unix.SYS_GETTID: true, unix.SYS_GETPID: true, unix.SYS_TGKILL: true, unix.SYS_MADVISE: true, unix.SYS_MMAP: true,
	unix.SYS_MUNMAP: true, unix.SYS_MPROTECT: true, unix.SYS_EXIT: true, unix.SYS_RESTART_SYSCALL: true,
}

func callName(nr uint64) string {
	if name := effects[nr]; name != "" {
		return name
	}
	return fmt.Sprintf("call %d", nr)
}

// choose picks the stops at which to try: of all kinds of effects, each before and
// after, so many of a kind, more of the mounts that are attached, and an even sample
// of everything else. Of each kind this user has his share.
func choose(seen []stop, each, others int) []stop {
	kinds := map[stop][]stop{} // by call and side
	var rest, out []stop
	for _, s := range seen {
		switch {
		case noise[s.call]:
		case effects[s.call] != "":
			kind := stop{call: s.call, done: s.done}
			kinds[kind] = append(kinds[kind], s)
		default:
			rest = append(rest, s)
		}
	}
	order := slices.SortedFunc(maps.Keys(kinds), func(a, b stop) int { return cmp.Compare(a.call, b.call) })
	for _, kind := range order {
		all := kinds[kind]
		switch {
		case kind.call != unix.SYS_MOVE_MOUNT:
			out = append(out, share(spread(all, each))...)
		case kind.done:
			out = append(out, share(spread(all, 8*each))...)
		}
	}
	return append(out, share(spread(rest, others))...)
}

// share is what one user plays of a list: every second, and root and the ordinary user
// together all of it. Nobody goes without where there is one only.
func share[T any](all []T) []T {
	if len(all) < 2 {
		return all
	}
	var out []T
	for i, one := range all {
		if stage.Mine(i) {
			out = append(out, one)
		}
	}
	return out
}

// spread takes n of all, evenly, the first and the last among them.
func spread(all []stop, n int) []stop {
	if len(all) <= n {
		return all
	}
	var out []stop
	for i := range n {
		out = append(out, all[i*(len(all)-1)/(n-1)])
	}
	return out
}
