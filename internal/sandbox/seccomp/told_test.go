package seccomp

import "testing"

// toldOf lists which refusals come to the keeper, and which the filter keeps to itself.
var toldOf = []struct {
	call  string
	args  []uint64
	errno int // 0: it is not told
}{
	{"socket", []uint64{2, 2, 1}, 93},             // ping
	{"socket", []uint64{10, 2 | 0x80000, 58}, 93}, // ping of IPv6
	{"socket", []uint64{2, 3 | 0x80800, 1}, 1},    // raw
	{"socket", []uint64{2, 1, 262}, 0},            // MPTCP, which Go tries and does without
	{"socket", []uint64{16, 3, 9}, 0},             // audit
	{"socket", []uint64{2, 2, 17}, 0},             // UDP exists
	{"unshare", []uint64{0x10000000}, 1},
	{"unshare", []uint64{0x200}, 0},
	{"clone", []uint64{0x10000011}, 1},
	{"clone", []uint64{17}, 0},
	{"mount", nil, 1}, {"umount2", nil, 1}, {"chroot", nil, 1}, {"setns", nil, 1}, {"init_module", nil, 1},
	{"clock_settime", nil, 1}, {"swapon", nil, 1}, {"fanotify_init", nil, 0}, {"open_tree", nil, 0}, {"adjtimex", nil, 0}, {"quotactl", nil, 0},
	// Only the filter stands before these.
	{"keyctl", nil, 0}, {"io_uring_setup", nil, 0}, {"perf_event_open", nil, 0}, {"bpf", nil, 0}, {"userfaultfd", nil, 0},
	{"open_by_handle_at", nil, 0}, {"process_vm_readv", nil, 0}, {"get_mempolicy", nil, 0}, {"personality", []uint64{0x40000}, 0},
	{"openat", nil, 0}, {"read", nil, 0},
}

func TestTold(t *testing.T) {
	for _, goarch := range goarches {
		filter, heard, watch := newMachine(t, goarch), newProgram(t, goarch, Heard), newProgram(t, goarch, Watch)
		for _, c := range toldOf {
			nr, ok := filter.nr[c.call]
			if !ok {
				continue
			}
			var args [6]uint64
			copy(args[:], c.args)
			got, told := Told(goarch, int32(nr), &args)
			if told != (c.errno != 0) || told && (got.Errno != c.errno || got.Call != c.call) {
				t.Errorf("%s: %s%v: told %v, %+v", goarch, c.call, c.args, told, got)
			}
			if !told {
				continue
			}
			if v := filter.verdict(t, nr, c.args...); v != errno|verdict(c.errno) {
				t.Errorf("%s: %s%v is %#x without a keeper", goarch, c.call, c.args, v)
			}
			if v := heard.verdict(t, nr, c.args...); v != allow {
				t.Errorf("%s: %s%v is %#x beside a keeper", goarch, c.call, c.args, v)
			}
			if v := watch.verdict(t, nr, c.args...); v != notify {
				t.Errorf("%s: %s%v is %#x for the keeper", goarch, c.call, c.args, v)
			}
		}
	}
}

// TestHeardHoldsTheRest: for every number and a row of arguments, the two programs together
// refuse what the filter alone refuses, and hand over nothing that Told does not refuse.
func TestHeardHoldsTheRest(t *testing.T) {
	for _, goarch := range goarches {
		filter, heard, watch, tell := newMachine(t, goarch), newProgram(t, goarch, Heard), newProgram(t, goarch, Watch), newProgram(t, goarch, Tell)
		for nr := range uint32(maxNumber + 2) {
			for _, a := range []uint64{0, 1, 2, 3, 10, 16, 17, 58, 0x5412, 0x10000000, 0x7e020080, 1 << 32, ^uint64(0)} {
				for _, b := range []uint64{0, 1, 2, 3, 0x80003, 0x5412} {
					args := []uint64{a, b, a, b, a, b}
					alone, beside := filter.verdict(t, nr, args...), heard.verdict(t, nr, args...)
					refusal, told := Told(goarch, int32(nr), (*[6]uint64)(args))
					if handed := tell.verdict(t, nr, args...) == notify; handed != told {
						t.Fatalf("%s: call %d(%#x, %#x): handed over without trees: %v, told %v", goarch, nr, a, b, handed, told)
					}
					switch {
					case alone == beside && !told:
					case told && alone == errno|verdict(refusal.Errno) && refusal.Errno != 0 && beside == allow && watch.verdict(t, nr, args...) == notify:
					default:
						t.Fatalf("%s: call %d(%#x, %#x): alone %#x, beside %#x, told %v %+v", goarch, nr, a, b, alone, beside, told, refusal)
					}
				}
			}
		}
	}
}
