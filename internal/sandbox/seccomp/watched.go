package seccomp

// watched names the calls that could change a tree of the host. In the live view
// those trees are mounted read-only inside, which is the wall; the keeper outside
// does on the agent's behalf what may be done. So it is no harm if a call slips
// past or is misjudged here: the kernel then says EROFS.
var watched = [...]family{
	{
		why:     "opening to write, to create or to empty; reading goes straight to the kernel",
		verdict: notify,
		rules:   []rule{{[]match{{1, openChanges, []uint32{0}}}, allow}},
		calls:   "open",
	},
	{
		why:     "the same, one argument later",
		verdict: notify,
		rules:   []rule{{[]match{{2, openChanges, []uint32{0}}}, allow}},
		calls:   "openat",
	},
	{
		why:     "flags behind a pointer, or always a change",
		verdict: notify,
		calls: `
			openat2 creat mkdir mkdirat mknod mknodat rename renameat renameat2 link linkat symlink symlinkat
			unlink unlinkat rmdir truncate`,
	},
	{
		why:     "owner and times, by name or by a descriptor that was opened to read",
		verdict: notify,
		calls:   "chown lchown fchown fchownat utime utimes utimensat futimesat",
	},
	{
		why:     "no file becomes setuid: whoever runs it later would be the user",
		verdict: notify,
		rules:   []rule{{[]match{{1, modeSetUID, []uint32{modeSetUID}}}, refuse}},
		calls:   "chmod",
	},
	{
		why:     "by a descriptor no file becomes setgid either: it may have no name left by which the keeper could do it",
		verdict: notify,
		rules:   []rule{{[]match{{1, modeSetUID | modeSetGID, []uint32{modeSetUID, modeSetGID, modeSetUID | modeSetGID}}}, refuse}},
		calls:   "fchmod",
	},
	{
		why:     "as chmod, one argument later",
		verdict: notify,
		rules:   []rule{{[]match{{2, modeSetUID, []uint32{modeSetUID}}}, refuse}},
		calls:   "fchmodat fchmodat2",
	},
	{
		why:     "the question whether a file may be written: by its read-only mount it could not",
		verdict: notify,
		rules:   []rule{{[]match{{1, accessWrite, []uint32{0}}}, allow}},
		calls:   "access",
	},
	{
		why:     "as access, one argument later",
		verdict: notify,
		rules:   []rule{{[]match{{2, accessWrite, []uint32{0}}}, allow}},
		calls:   "faccessat faccessat2",
	},
	{
		why:     "what the keeper must know to make files with the mode that the caller would have got",
		verdict: notify,
		calls:   "umask",
	},
	{
		why: "extended attributes of a file that the keeper opened would reach the host unseen, and by name they meet the " +
			"read-only mount. Tools that copy them take this for a file system that has none",
		verdict: errno | 95, // EOPNOTSUPP
		calls: `
			setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat`,
	},
	lone,
	{
		why:     "a socket that gets a name in a tree",
		verdict: notify,
		calls:   "bind",
	},
}

var lone = family{
	why: "filters of its own, but no listener: a process has one, which is the keeper, and must not get another in the " +
		"moment when that one ends, to let go on what the keeper would have refused",
	verdict: allow,
	rules:   []rule{{[]match{{0, all, []uint32{setModeFilter}}, {1, newListener, []uint32{newListener}}}, busy}},
	calls:   "seccomp",
}
