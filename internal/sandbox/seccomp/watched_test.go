package seccomp

import (
	"slices"
	"strings"
	"testing"
)

// newProgram is newMachine for another program.
func newProgram(t *testing.T, goarch string, program func(string) ([]byte, error)) *machine {
	t.Helper()
	m := newMachine(t, goarch)
	raw, err := program(goarch)
	if err != nil {
		t.Fatal(err)
	}
	m.raw = raw
	return m
}

const noXattr = errno | 95

// handed lists what the keeper hears of. Values are plain numbers, as in judged.
var handed = []struct {
	call string
	args []uint64
	want verdict
}{
	{"open", []uint64{0, 0}, allow},                  // O_RDONLY
	{"open", []uint64{0, 0x80000 | 0x800}, allow},    // CLOEXEC, NONBLOCK
	{"open", []uint64{0, 0x10000 | 0x200000}, allow}, // DIRECTORY, PATH
	{"open", []uint64{0, 1}, notify},
	{"open", []uint64{0, 2}, notify},
	{"open", []uint64{0, 3}, notify},        // neither, for an ioctl
	{"open", []uint64{0, 0x40}, notify},     // O_CREAT
	{"open", []uint64{0, 0x200}, notify},    // O_TRUNC, which empties with O_RDONLY too
	{"open", []uint64{0, 0x400}, allow},     // O_APPEND alone
	{"open", []uint64{0, 0x410000}, notify}, // O_TMPFILE
	{"open", []uint64{1, 1 << 32}, allow},   // a bit that the kernel does not read
	{"open", []uint64{0, 1<<32 | 1}, notify},
	{"openat", []uint64{1, 1, 0}, allow},
	{"openat", []uint64{0, 0, 0x80000}, allow},
	{"openat", []uint64{0, 0, 0x241}, notify},
	{"openat", []uint64{0, 0, 0x200}, notify},
	{"openat", []uint64{0, 0, 0x400000}, notify},
	{"openat", []uint64{0, 0, 1<<63 | 2}, notify},
	{"openat2", nil, notify},
	{"creat", nil, notify},
	{"mkdirat", nil, notify}, {"mknodat", nil, notify}, {"renameat", nil, notify}, {"renameat2", nil, notify},
	{"linkat", nil, notify}, {"symlinkat", nil, notify}, {"unlinkat", nil, notify}, {"truncate", nil, notify},
	{"mkdir", nil, notify}, {"rename", nil, notify}, {"link", nil, notify}, {"unlink", nil, notify}, {"rmdir", nil, notify},
	{"chmod", []uint64{0, 0o1777}, notify},
	{"chmod", []uint64{0, 0o4755}, refuse},
	{"chmod", []uint64{0, 1<<32 | 0o6000}, refuse},
	{"fchmod", []uint64{0, 0o755}, notify},
	{"fchmod", []uint64{0, 0o4000}, refuse},
	{"fchmodat", []uint64{0, 0o4000, 0o644}, notify},
	{"fchmodat", []uint64{0, 0, 0o4644}, refuse},
	{"fchmodat2", []uint64{0, 0, 0o4644}, refuse},
	{"fchmodat2", []uint64{0, 0, 0o644, 0x100}, notify},
	{"fchown", nil, notify}, {"fchownat", nil, notify}, {"chown", nil, notify}, {"lchown", nil, notify},
	{"utimensat", nil, notify}, {"utime", nil, notify}, {"futimesat", nil, notify},
	{"access", []uint64{0, 4 | 1}, allow},
	{"access", []uint64{0, 2}, notify},
	{"faccessat", []uint64{2, 2, 4}, allow},
	{"faccessat", []uint64{0, 0, 6}, notify},
	{"faccessat2", []uint64{0, 0, 0, 2}, allow},
	{"faccessat2", []uint64{0, 0, 2, 0x200}, notify},
	{"umask", nil, notify},
	{"bind", nil, notify},
	{"seccomp", []uint64{1, 8}, busy}, {"seccomp", []uint64{1, 8 | 1}, busy}, {"seccomp", []uint64{1, 1}, allow}, {"seccomp", []uint64{0}, allow},
	{"setxattr", nil, noXattr}, {"fsetxattr", nil, noXattr}, {"lsetxattr", nil, noXattr}, {"setxattrat", nil, noXattr},
	{"removexattr", nil, noXattr}, {"fremovexattr", nil, noXattr}, {"removexattrat", nil, noXattr},
	{"getxattr", nil, allow}, {"listxattr", nil, allow}, {"read", nil, allow}, {"write", nil, allow}, {"ftruncate", nil, allow},
	{"execve", nil, allow}, {"close", nil, allow}, {"connect", nil, allow}, {"newfstatat", nil, allow}, {"statx", nil, allow},
}

func TestWatch(t *testing.T) {
	for _, goarch := range goarches {
		m := newProgram(t, goarch, Watch)
		for _, c := range handed {
			nr, ok := m.nr[c.call]
			if !ok {
				continue // this architecture never had it
			}
			if got := m.verdict(t, nr, c.args...); got != c.want {
				t.Errorf("%s: %s%x: %#x, want %#x", goarch, c.call, c.args, got, c.want)
			}
		}
	}
}

// TestWatchIsComplete: every call that the table names is decided about as it says,
// and none is that it does not name.
func TestWatchIsComplete(t *testing.T) {
	var named []string
	for _, f := range append(handedOver(), watched[:]...) {
		named = append(named, strings.Fields(f.calls)...)
	}
	for _, goarch := range goarches {
		m := newProgram(t, goarch, Watch)
		for name, nr := range m.nr {
			seen := false
			for _, a := range []uint64{0, 2, 0x10000000} {
				seen = seen || m.verdict(t, nr, a, a, a, a, a, a) != allow || m.verdict(t, nr, 2, 3, a) != allow || m.verdict(t, nr, 1, 8) != allow
			}
			if seen != slices.Contains(named, name) {
				t.Errorf("%s: %s: seen: %v", goarch, name, seen)
			}
		}
		for _, nr := range []uint32{maxNumber + 1, 1 << 30, ^uint32(0)} {
			if v := m.verdict(t, nr); v != allow {
				t.Errorf("%s: number %d: %#x: it is the first filter's to refuse", goarch, nr, v)
			}
		}
	}
}

// TestWatchedIsAllowed: what the first filter refuses never gets to the keeper, so
// there is nothing to be served of it.
func TestWatchedIsAllowed(t *testing.T) {
	for _, goarch := range goarches {
		m := newMachine(t, goarch)
		for _, f := range watched {
			for name := range strings.FieldsSeq(f.calls) {
				nr, ok := m.nr[name]
				if ok && f.verdict == notify && m.verdict(t, nr) != allow {
					t.Errorf("%s: %s is watched and never comes", goarch, name)
				}
			}
		}
	}
}

// TestReview: links alone are answered as between two file systems.
func TestReview(t *testing.T) {
	for _, goarch := range goarches {
		m := newProgram(t, goarch, Review)
		for name, nr := range m.nr {
			want := allow
			if name == "link" || name == "linkat" {
				want = errno | 18
			}
			if got := m.verdict(t, nr, 1, 1, 1, 1, 1, 1); got != want {
				t.Errorf("%s: %s: %#x, want %#x", goarch, name, got, want)
			}
		}
	}
}

// TestSentry: no tracer stops at a call, and debuggers do the rest.
func TestSentry(t *testing.T) {
	for _, goarch := range goarches {
		for _, review := range []bool{false, true} {
			m := newProgram(t, goarch, func(goarch string) ([]byte, error) { return Sentry(goarch, review) })
			filter := newProgram(t, goarch, Filter)
			for name, nr := range m.nr {
				want := filter.verdict(t, nr, 7, 1, 1, 0xff, 1, 1)
				if review && (name == "link" || name == "linkat") {
					want = errno | 18
				}
				if got := m.verdict(t, nr, 7, 1, 1, 0xff, 1, 1); got != want { // of ptrace PTRACE_CONT
					t.Errorf("%s: %s: %#x, want %#x", goarch, name, got, want)
				}
			}
			for _, c := range []struct {
				request, options uint64
				want             verdict
			}{{24, 0, refuse}, {31, 0, refuse}, {32, 0, refuse}, {1<<32 | 24, 0, refuse}, {0x4200, 0x80, refuse}, {0x4206, 0x81, refuse}, {0x4200, 0x7f, allow},
				{0x4206, 0, allow}, {0, 0, allow}, {13, 0, allow}} {
				if got := m.verdict(t, m.nr["ptrace"], c.request, 1, 1, c.options); got != c.want {
					t.Errorf("%s: ptrace %#x with %#x: %#x, want %#x", goarch, c.request, c.options, got, c.want)
				}
			}
		}
	}
}

// TestOtherArchitectures: numbers of another architecture mean nothing here.
func TestOtherArchitectures(t *testing.T) {
	for _, program := range []func(string) ([]byte, error){Watch, Review} {
		for _, goarch := range goarches {
			m := newProgram(t, goarch, program)
			for _, audit := range []uint32{0x40000003, 0x40000028, m.audit ^ 0x7c} { // i386, arm, none
				v, err := run(m.raw, data{nr: m.nr["read"], arch: audit})
				if err != nil || v != kill {
					t.Errorf("%s: architecture %#x: %#x, %v", goarch, audit, v, err)
				}
			}
		}
		if _, err := program("riscv64"); err == nil {
			t.Error("a program for an architecture without a table")
		}
	}
}
