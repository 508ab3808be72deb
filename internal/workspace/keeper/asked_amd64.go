package keeper

import "golang.org/x/sys/unix"

func init() {
	for nr, n := range map[int32][]naming{
		unix.SYS_OPEN:     {{dir: -1, at: 0, open: true}},
		unix.SYS_CREAT:    {{dir: -1, at: 0, write: true, open: true}},
		unix.SYS_STAT:     {{dir: -1, at: 0}},
		unix.SYS_LSTAT:    {{dir: -1, at: 0}},
		unix.SYS_ACCESS:   {{dir: -1, at: 0}},
		unix.SYS_READLINK: {{dir: -1, at: 0}},
		unix.SYS_MKDIR:    {{dir: -1, at: 0, write: true}},
		unix.SYS_MKNOD:    {{dir: -1, at: 0, write: true}},
		unix.SYS_RENAME:   {{dir: -1, at: 0, write: true}, {dir: -1, at: 1, write: true}},
		unix.SYS_UNLINK:   {{dir: -1, at: 0, write: true}},
		unix.SYS_RMDIR:    {{dir: -1, at: 0, write: true}},
		unix.SYS_SYMLINK:  {{dir: -1, at: 1, write: true}},
		unix.SYS_LINK:     {{dir: -1, at: 0}, {dir: -1, at: 1, write: true}},
	} {
		namings[nr] = n
	}
}

func opensByName(r *request) (flags uint64, ok bool) {
	switch r.call.Nr {
	case unix.SYS_OPEN:
		return r.arg(1), true
	case unix.SYS_CREAT:
		return unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC, true
	}
	return 0, false
}

func accessByName(r *request) (uint32, bool) { return r.flags(1), r.call.Nr == unix.SYS_ACCESS }

func makesByName(nr int32) bool { return nr == unix.SYS_MKDIR }

func removesByName(nr int32) bool { return nr == unix.SYS_UNLINK || nr == unix.SYS_RMDIR }
