package seccomp

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// The expectations are written out a second time, by hand and by name, so that
// no verdict changes by an edit in one place.
var (
	expectRefused = strings.Fields(`
		mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr
		setns add_key request_key keyctl bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
		kexec_load kexec_file_load init_module finit_module delete_module reboot iopl ioperm swapon swapoff acct
		quotactl quotactl_fd settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname vhangup syslog
		name_to_handle_at open_by_handle_at fanotify_init fanotify_mark pidfd_getfd process_vm_readv process_vm_writev
		process_madvise process_mrelease kcmp memfd_secret mbind set_mempolicy set_mempolicy_home_node get_mempolicy migrate_pages move_pages modify_ldt
		lsm_set_self_attr uselib ustat sysfs _sysctl lookup_dcookie nfsservctl remap_file_pages`)
	expectAbsent = strings.Fields(`
		clone3 statmount listmount listns create_module get_kernel_syms query_module
		io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents
		getpmsg putpmsg afs_syscall tuxcall security vserver epoll_ctl_old epoll_wait_old get_thread_area set_thread_area`)
	expectJudged = strings.Fields(`socket socketpair clone unshare ioctl personality mknod mknodat`)
)

// TestTableIsComplete: each call known to x/sys stands in exactly one row, and
// each row gives its reason.
func TestTableIsComplete(t *testing.T) {
	rows := map[string]int{}
	for _, f := range table {
		if f.why == "" {
			t.Errorf("no reason beside %q", f.calls)
		}
		for name := range strings.FieldsSeq(f.calls) {
			rows[name]++
		}
	}
	for _, n := range numbers {
		if rows[n.name] != 1 {
			t.Errorf("%s (amd64 %d, arm64 %d) stands in %d rows, want 1", n.name, n.amd64, n.arm64, rows[n.name])
		}
	}
}

// TestEveryNumber walks the whole number space that could ever be assigned, with
// arguments that a careless comparison might take for a condition.
func TestEveryNumber(t *testing.T) {
	for _, goarch := range goarches {
		m := newMachine(t, goarch)
		want := map[uint32]verdict{}
		for name, nr := range m.nr {
			switch {
			case slices.Contains(expectRefused, name):
				want[nr] = refuse
			case slices.Contains(expectAbsent, name):
				want[nr] = absent
			case !slices.Contains(expectJudged, name):
				want[nr] = allow
			}
		}
		for nr := range uint32(4096) {
			expected, ok := want[nr]
			if !ok {
				if slices.ContainsFunc(expectJudged, func(name string) bool { return m.has(name, nr) }) {
					continue
				}
				expected = absent
			}
			for _, arg := range []uint64{0, 1, 2, 0x5412, 1 << 32, ^uint64(0)} {
				if got := m.verdict(t, nr, arg, arg, arg, arg, arg, arg); got != expected {
					t.Errorf("%s: call %d(%#x, ...): %#x, want %#x", goarch, nr, arg, got, expected)
				}
			}
		}
	}
}

func (m *machine) has(name string, nr uint32) bool {
	own, ok := m.nr[name]
	return ok && own == nr
}

// TestBeyondTheTable: x32 numbers, and numbers that are negative as an int.
func TestBeyondTheTable(t *testing.T) {
	for _, goarch := range goarches {
		m := newMachine(t, goarch)
		for _, nr := range m.nr {
			if got := m.verdict(t, nr|0x40000000); got != absent {
				t.Errorf("%s: x32 call %#x: %#x, want ENOSYS", goarch, nr|0x40000000, got)
			}
		}
		for _, nr := range []uint32{maxNumber, maxNumber + 1, 0x3fffffff, 0x7fffffff, 0x80000000, 0xffffffff} {
			if got := m.verdict(t, nr); got != absent {
				t.Errorf("%s: call %#x: %#x, want ENOSYS", goarch, nr, got)
			}
		}
	}
}

// TestForeignArch: under another architecture no number is allowed.
func TestForeignArch(t *testing.T) {
	foreign := []uint32{0, 0x40000003 /* i386 */, 0x40000028 /* arm */, 0xc000003e, 0xc00000b7, 0xffffffff}
	for _, goarch := range goarches {
		m := newMachine(t, goarch)
		for _, arch := range foreign {
			if arch == m.audit {
				continue
			}
			for nr := range uint32(600) {
				if got, err := run(m.raw, data{nr: nr, arch: arch}); got != kill || err != nil {
					t.Fatalf("%s: call %d of %#x: %#x, %v, want the process killed", goarch, nr, arch, got, err)
				}
			}
		}
	}
}

// TestProgram: within the kernel's limits, every jump lands inside, and every
// ERRNO carries a number: without one, the caller would be told of success.
func TestProgram(t *testing.T) {
	for _, goarch := range goarches {
		raw := newMachine(t, goarch).raw
		n := len(raw) / 8
		t.Logf("%s: %d instructions", goarch, n)
		if len(raw)%8 != 0 || n > 4096 {
			t.Fatalf("%s: %d bytes", goarch, len(raw))
		}
		for pc := range n {
			at := raw[8*pc:]
			k := binary.LittleEndian.Uint32(at[4:])
			switch code := binary.LittleEndian.Uint16(at); {
			case code == opJump && pc+1+int(k) >= n,
				(code == opJeq || code == opJge) && pc+1+int(max(at[2], at[3])) >= n:
				t.Errorf("%s: pc %d jumps out of the program", goarch, pc)
			case code == opRet && k == uint32(errno):
				t.Errorf("%s: pc %d refuses with errno 0", goarch, pc)
			}
		}
	}
}

// TestFarJumps searches a table so large that halves lie farther apart than a
// conditional jump reaches, as ours may one day.
func TestFarJumps(t *testing.T) {
	var spans []span
	for i := range uint32(1500) {
		spans = append(spans, span{2 * i, &family{verdict: errno | verdict(i%200+1)}})
	}
	raw := encode(compile(1, spans))
	for nr := range uint32(3000) {
		if got, err := run(raw, data{nr: nr, arch: 1}); got != errno|verdict(nr/2%200+1) || err != nil {
			t.Fatalf("call %d: %#x, %v", nr, got, err)
		}
	}
}

func TestUnknownArchitecture(t *testing.T) {
	for _, goarch := range []string{"", "386", "riscv64", "AMD64"} {
		if raw, err := Filter(goarch); err == nil || raw != nil {
			t.Errorf("Filter(%q) = %d bytes, %v; want an error alone", goarch, len(raw), err)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	for b.Loop() {
		if _, err := Filter("amd64"); err != nil {
			b.Fatal(err)
		}
	}
}
