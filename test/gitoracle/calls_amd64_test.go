package gitoracle

import "golang.org/x/sys/unix"

// places of the arguments of calls that change something: the directory that a
// path begins in (-1: where the caller is), and the path.
var places = map[uint64][][2]int{
	unix.SYS_OPENAT: {{0, 1}}, unix.SYS_OPENAT2: {{0, 1}}, unix.SYS_MKDIRAT: {{0, 1}}, unix.SYS_MKNODAT: {{0, 1}}, unix.SYS_UNLINKAT: {{0, 1}},
	unix.SYS_RENAMEAT: {{0, 1}, {2, 3}}, unix.SYS_RENAMEAT2: {{0, 1}, {2, 3}}, unix.SYS_LINKAT: {{2, 3}}, unix.SYS_SYMLINKAT: {{1, 2}},
	unix.SYS_FCHMODAT: {{0, 1}}, unix.SYS_FCHOWNAT: {{0, 1}}, unix.SYS_TRUNCATE: {{-1, 0}},
	unix.SYS_OPEN: {{-1, 0}}, unix.SYS_CREAT: {{-1, 0}}, unix.SYS_MKDIR: {{-1, 0}}, unix.SYS_RMDIR: {{-1, 0}}, unix.SYS_MKNOD: {{-1, 0}}, unix.SYS_UNLINK: {{-1, 0}},
	unix.SYS_RENAME: {{-1, 0}, {-1, 1}}, unix.SYS_LINK: {{-1, 1}}, unix.SYS_SYMLINK: {{-1, 1}}, unix.SYS_CHMOD: {{-1, 0}}, unix.SYS_CHOWN: {{-1, 0}}, unix.SYS_LCHOWN: {{-1, 0}},
}

// opens are the calls that change something only by their flags, and where those are.
var opens = map[uint64]uint32{unix.SYS_OPENAT: 2, unix.SYS_OPEN: 1}
