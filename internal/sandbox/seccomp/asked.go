package seccomp

// asked names the calls that ask for something by its path: `ringfence learn` hears of
// them, notes what was asked for, and lets every one of them go on. It is a record and
// never a decision: what another thread makes of the path meanwhile meets the same
// walls as in any session.
var asked = family{
	why:     "what a program asks for by name: only noted",
	verdict: notify,
	calls: `
		open openat openat2 creat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat
		execve execveat chdir mkdir mkdirat rename renameat renameat2 unlink unlinkat rmdir truncate
		symlink symlinkat link linkat mknod mknodat`,
}

// Learn returns the program for a session from which a policy is learnt. With keeper it
// stands in the place of Watch's, and hands over all that that one does; without, it
// only tells. No other session has it.
func Learn(goarch string, keeper bool) ([]byte, error) {
	var rows []family
	if keeper {
		rows = append(handedOver(), watched[:]...)
	}
	return program(goarch, &unwatched, append(rows, asked)...)
}
