package seccomp

// family is a row of the table: calls that get one verdict for one reason.
type family struct {
	why     string
	say     string  // to a person who wonders, where it is told
	verdict verdict // where no rule decides
	rules   []rule  // tried in order on the arguments
	calls   string  // names, separated by space
}

// rule decides if every match holds.
type rule struct {
	when []match
	then verdict
}

// match holds if the low 32 bits of an argument, masked, are among the values.
type match struct {
	arg  int
	mask uint32
	in   []uint32
}

// table judges every call of both architectures; a test holds it against x/sys so
// that a call new there waits for a decision here, and is absent until then.
var table = [...]family{
	// Allowed.
	{
		why:     "file contents: the mount view and Landlock decide which files there are",
		verdict: allow,
		calls: `
			read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 open openat openat2 creat
			close close_range lseek sendfile splice tee vmsplice copy_file_range fallocate truncate ftruncate
			fsync fdatasync sync syncfs sync_file_range readahead fadvise64 cachestat dup dup2 dup3 flock
			pipe pipe2 memfd_create`,
	},
	{
		why:     "file names and attributes: bounded by the same two walls",
		verdict: allow,
		calls: `
			stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 getdents getdents64
			getcwd chdir fchdir umask rename renameat renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat
			symlink symlinkat readlink readlinkat chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat
			utime utimes utimensat futimesat setxattr lsetxattr fsetxattr setxattrat getxattr lgetxattr
			fgetxattr getxattrat listxattr llistxattr flistxattr listxattrat removexattr lremovexattr
			fremovexattr removexattrat file_getattr file_setattr`,
	},
	{
		why:     "waiting for descriptors; inotify because file watchers and dev servers live on it",
		verdict: allow,
		calls: `
			poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
			eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime inotify_init
			inotify_init1 inotify_add_watch inotify_rm_watch`,
	},
	{
		why:     "the old AIO: its slots are counted for the whole machine, and one call could take nearly all; databases do without",
		verdict: absent,
		calls:   "io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents",
	},
	{
		why:     "a process's own memory",
		verdict: allow,
		calls: `
			mmap munmap mremap mprotect brk msync mincore madvise mlock mlock2 munlock mlockall munlockall
			pkey_alloc pkey_free pkey_mprotect map_shadow_stack mseal membarrier`,
	},
	{
		why:     "processes, threads, signals: the PID namespace bounds whom they reach, the pids limit how many there are",
		verdict: allow,
		calls: `
			fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid getpgrp
			setpgid getsid setsid kill tkill tgkill pidfd_open pidfd_send_signal rt_sigaction rt_sigprocmask
			rt_sigpending rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn
			sigaltstack pause restart_syscall futex futex_wait futex_wake futex_requeue futex_waitv
			set_tid_address set_robust_list get_robust_list rseq rseq_slice_yield arch_prctl`,
	},
	{
		why:     "identity: with every capability gone the kernel lets a process only give up what it has",
		verdict: allow,
		calls: `
			getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid
			setresuid setresgid setfsuid setfsgid setgroups capget capset`,
	},
	{
		why:     "prctl acts on the caller alone, and the options that would widen anything need a capability",
		verdict: allow,
		calls:   "prctl",
	},
	{
		why:     "limits and scheduling: hard limits only go down, other users' processes are out of reach",
		verdict: allow,
		calls: `
			getrlimit setrlimit prlimit64 getrusage getpriority setpriority ioprio_get ioprio_set getcpu
			sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam sched_getscheduler
			sched_setscheduler sched_getattr sched_setattr sched_get_priority_max sched_get_priority_min
			sched_rr_get_interval`,
	},
	{
		why:     "reading clocks, own timers",
		verdict: allow,
		calls: `
			time times gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer
			setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete`,
	},
	{
		why:     "SysV and POSIX IPC: the IPC namespace is our own, nothing of the host is in it",
		verdict: allow,
		calls: `
			shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open
			mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr`,
	},
	{
		why:     "sockets that exist: the network namespace decides where they lead",
		verdict: allow,
		calls: `
			bind connect listen accept accept4 shutdown getsockname getpeername setsockopt getsockopt sendto
			sendmsg sendmmsg recvfrom recvmsg recvmmsg`,
	},
	{
		why:     "names and sizes of the machine. Left at risk: uptime and memory of the host are readable",
		verdict: allow,
		calls:   "uname sysinfo getrandom",
	},
	{
		why: "debuggers work on their own children. The kernel runs this filter after a tracer had its say, so no " +
			"tracer smuggles a call past it; PID 1 is not dumpable and so not traceable",
		verdict: allow,
		calls:   "ptrace",
	},
	{
		why:     "a program inside may raise walls of its own; filters and rulesets only add up",
		verdict: allow,
		calls: `
			seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self lsm_get_self_attr
			lsm_list_modules`,
	},
	{
		why: "made by the kernel's own trampolines where the host's root placed a probe: refusing breaks the probed " +
			"program, and any other caller gets an error or a signal",
		verdict: allow,
		calls:   "uretprobe uprobe",
	},

	// Judged by arguments.
	{
		why: "sockets: local ones, TCP and UDP. Raw packets, ping, SCTP and MPTCP are nothing that the gate could " +
			"judge. Of netlink only routes, which getifaddrs reads and dev servers need. Other families (packet, " +
			"vsock, alg, bluetooth, ...) lead out of the namespace or into rarely walked kernel code. The errors say " +
			"'not in this kernel' instead of 'forbidden', because callers (libaudit, Go's MPTCP) then carry on " +
			"without; types stand in an allow-list because (AF_INET, SOCK_PACKET) is AF_PACKET by its old name",
		say:     "no ping and no raw packets leave the session",
		verdict: noFamily,
		rules: []rule{
			{[]match{{0, all, []uint32{afUnix}}}, allow},
			{[]match{{0, all, []uint32{afNetlink}}, {2, all, []uint32{netlinkRoute}}}, allow},
			{[]match{{0, all, []uint32{afNetlink}}}, noProtocol},
			{[]match{
				{0, all, []uint32{afInet, afInet6}},
				{1, sockTypeMask, []uint32{sockStream, sockDgram}},
				{2, all, []uint32{protoDefault, protoTCP, protoUDP}},
			}, allow},
			{[]match{
				{0, all, []uint32{afInet, afInet6}},
				{1, sockTypeMask, []uint32{sockDgram}},
				{2, all, []uint32{protoICMP, protoICMP6}},
			}, noProtocol | told},
			{[]match{
				{0, all, []uint32{afInet, afInet6}},
				{1, sockTypeMask, []uint32{sockStream, sockDgram}},
			}, noProtocol},
			{[]match{{0, all, []uint32{afInet, afInet6}}, {1, sockTypeMask, []uint32{sockRaw}}}, refuse | told},
			{[]match{{0, all, []uint32{afInet, afInet6}}}, refuse},
		},
		calls: "socket",
	},
	{
		why:     "pairs: only local ones exist, but for TIPC",
		verdict: noFamily,
		rules:   []rule{{[]match{{0, all, []uint32{afUnix}}}, allow}},
		calls:   "socketpair",
	},
	{
		why: "new processes and threads, but no new namespaces: in one of its own a process has every capability " +
			"again. Bit 0x80 is CLONE_NEWTIME elsewhere and no signal here",
		say:     "a session has no further sandboxes or containers in it",
		verdict: refuse | told,
		rules:   []rule{{[]match{{0, cloneNewAny, []uint32{0}}}, allow}},
		calls:   "clone",
	},
	{
		why:     "the same for the caller; an allow-list, because this call learns new flags",
		say:     "a session has no further sandboxes or containers in it",
		verdict: refuse | told,
		rules:   []rule{{[]match{{0, all &^ (cloneFS | cloneFiles | cloneSysVSem), []uint32{0}}}, allow}},
		calls:   "unshare",
	},
	{
		why: "devices: not what types into somebody's terminal (TIOCSTI, TIOCLINUX), takes the console's output " +
			"(TIOCCONS), or loads line disciplines, a line of kernel exploits (TIOCSETD)",
		verdict: allow,
		rules:   []rule{{[]match{{1, all, []uint32{tiocSTI, tiocLinux, tiocCons, tiocSetD}}}, refuse}},
		calls:   "ioctl",
	},
	{
		why: "descriptors' own matters, but no leases: whoever opens a leased file on the host waits until its holder " +
			"lets go, or for the better part of a minute",
		verdict: allow,
		rules:   []rule{{[]match{{1, all, []uint32{fSetLease}}}, refuse}},
		calls:   "fcntl",
	},
	{
		why: "execution domains: Linux and 32-bit uname as build tools set them, and the question. Not the switches " +
			"that weaken memory protection; gdb says it could not disable randomisation and goes on",
		verdict: refuse,
		rules: []rule{{[]match{
			{0, all, []uint32{perLinux, perLinux32, perUname26, perUname26 | perLinux32, perQuery}},
		}, allow}},
		calls: "personality",
	},
	{
		why: "FIFOs and sockets, not devices: the kernel refuses those without a capability too, but for the device " +
			"0:0, which an overlay reads as 'this file was deleted'",
		verdict: allow,
		rules:   []rule{{[]match{{1, modeFormat, []uint32{modeChar, modeBlock}}}, refuse}},
		calls:   "mknod",
	},
	{
		why:     "as mknod, one argument later",
		verdict: allow,
		rules:   []rule{{[]match{{2, modeFormat, []uint32{modeChar, modeBlock}}}, refuse}},
		calls:   "mknodat",
	},

	// Refused with EPERM, as the kernel would without the capability.
	{
		why:     "mounts: a detached or replaced mount undoes every read-only carve-out",
		say:     "what the session sees stays as it was built",
		verdict: refuse | told,
		calls: `
			mount umount2 pivot_root chroot move_mount fsopen fsconfig fsmount fspick
			mount_setattr`,
	},
	{
		why:     "joining namespaces",
		say:     "a session has no further sandboxes or containers in it",
		verdict: refuse | told,
		calls:   "setns",
	},
	{
		why:     "keyrings follow a process into its namespaces, with the host's secrets in them",
		verdict: refuse,
		calls:   "add_key request_key keyctl",
	},
	{
		why:     "programs and probes in the kernel: the widest attack surface there is, of no use to an agent",
		verdict: refuse,
		calls:   "bpf perf_event_open userfaultfd",
	},
	{
		why:     "io_uring opens, connects and sends without making the calls this filter sees",
		verdict: refuse,
		calls:   "io_uring_setup io_uring_enter io_uring_register",
	},
	{
		why:     "the kernel itself: another one, more of it, ports, stop",
		say:     "it would change the host's kernel",
		verdict: refuse | told,
		calls:   "kexec_load kexec_file_load init_module finit_module delete_module reboot iopl",
	},
	{
		why:     "swap, accounting, quota: the host's administration",
		say:     "it would change the host",
		verdict: refuse | told,
		calls:   "swapon swapoff acct",
	},
	{
		why:     "the host's clock; reading it needs none of these",
		say:     "it would set the host's clock",
		verdict: refuse | told,
		calls:   "settimeofday clock_settime",
	},
	{
		why:     "the same kinds, by calls of which the kernel grants some ways to everybody: the filter alone refuses those",
		verdict: refuse,
		calls:   "open_tree open_tree_attr ioperm quotactl quotactl_fd adjtimex clock_adjtime",
	},
	{
		why:     "names the sandbox was given, and the terminal of somebody else",
		verdict: refuse,
		calls:   "sethostname setdomainname vhangup",
	},
	{
		why:     "the kernel's log leaks addresses and other users' doings",
		verdict: refuse,
		calls:   "syslog",
	},
	{
		why:     "file handles reach inodes by number, around the mount view; making them is of no use without opening them",
		verdict: refuse,
		calls:   "name_to_handle_at open_by_handle_at",
	},
	{
		why:     "fanotify watches whole filesystems, workspace and host alike; inotify remains",
		verdict: refuse,
		calls:   "fanotify_init fanotify_mark",
	},
	{
		why:     "other processes' descriptors and memory, taken without a stop; debuggers have ptrace, and strace falls back to it",
		verdict: refuse,
		calls:   "pidfd_getfd process_vm_readv process_vm_writev process_madvise process_mrelease kcmp",
	},
	{
		why:     "memory that neither a debugger nor a supervisor can read",
		verdict: refuse,
		calls:   "memfd_secret",
	},
	{
		why:     "NUMA placement, with a record of kernel bugs; libnuma asks get_mempolicy first and takes EPERM as: no NUMA here",
		verdict: refuse,
		calls:   "mbind set_mempolicy set_mempolicy_home_node get_mempolicy migrate_pages move_pages",
	},
	{
		why:     "16-bit segments: kernel bugs, no 64-bit user",
		verdict: refuse,
		calls:   "modify_ldt",
	},
	{
		why:     "security labels are the host's to give",
		verdict: refuse,
		calls:   "lsm_set_self_attr",
	},
	{
		why:     "no caller is left; what is not called need not be reachable",
		verdict: refuse,
		calls:   "uselib ustat sysfs _sysctl lookup_dcookie nfsservctl remap_file_pages",
	},

	// Absent, where callers take ENOSYS as the sign to do it another way.
	{
		why:     "its flags lie behind a pointer that a filter cannot read; on ENOSYS glibc falls back to clone",
		verdict: absent,
		calls:   "clone3",
	},
	{
		why: "mounts and namespaces by number; /proc/self/mountinfo tells what is the agent's to know, and is the " +
			"way on older kernels",
		verdict: absent,
		calls:   "statmount listmount listns",
	},
	{
		why:     "numbers without a call behind them: the kernel says the same",
		verdict: absent,
		calls: `
			create_module get_kernel_syms query_module getpmsg putpmsg afs_syscall tuxcall security vserver
			epoll_ctl_old epoll_wait_old get_thread_area set_thread_area`,
	},
}
