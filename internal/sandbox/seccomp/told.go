package seccomp

import (
	"slices"
	"strings"
	"sync"
)

// Refusals that a person may wonder about are told: ping, a sandbox within the sandbox,
// mounts, the clock. Nobody but the kernel's log hears of a call that a filter refuses, so
// such a call comes to the keeper, where there is one, and is refused by it. Three things
// keep the wall as high as it was:
//
//   - only calls are told that the kernel refuses without this filter too, for want of a
//     capability, of a user namespace or of a group that may ping: what the filter alone
//     refuses it refuses by itself;
//   - the keeper looks at no memory of the caller for it, and has no other answer than the
//     table's;
//   - a call that nobody answers fails (ENOSYS): a keeper that ended lets nothing through.
//
// Calls that programs make often and do without (NUMA, process_vm_readv, kcmp) are not told:
// each costs the time of a question.

// told holds for a verdict that is told.
func (v verdict) told() bool { return v&^0xffff == errno && v&told != 0 }

// plain is the verdict as the kernel takes it.
func (v verdict) plain() verdict {
	if v.told() {
		return v &^ told
	}
	return v
}

// outcomes are rows with other verdicts.
func outcomes(rows []family, as func(verdict) verdict) []family {
	out := slices.Clone(rows)
	for i := range out {
		out[i].verdict = as(out[i].verdict)
		out[i].rules = slices.Clone(out[i].rules)
		for n := range out[i].rules {
			out[i].rules[n].then = as(out[i].rules[n].then)
		}
	}
	return out
}

// handedOver are the rows by which refusals that are told come to the keeper.
func handedOver() []family {
	return outcomes(slices.DeleteFunc(slices.Clone(table[:]), func(f family) bool { return !f.tells() }), func(v verdict) verdict {
		if v.told() {
			return notify
		}
		return allow
	})
}

func (f *family) tells() bool {
	return f.verdict.told() || slices.ContainsFunc(f.rules, func(r rule) bool { return r.then.told() })
}

// Refusal is the answer to a call that is refused and told of.
type Refusal struct {
	Call  string
	Why   string
	Errno int
}

// Told is the answer to a call that came to the keeper to be refused; false: it did not.
func Told(goarch string, nr int32, args *[6]uint64) (Refusal, bool) {
	row, ok := tellers(goarch)[nr]
	if !ok {
		return Refusal{}, false
	}
	v := row.judge(args)
	return Refusal{Call: row.name, Why: row.say, Errno: int(v & 0xfff)}, v.told()
}

// judge is what the compiled program does, for one row.
func (f *family) judge(args *[6]uint64) verdict {
	for _, r := range f.rules {
		if !slices.ContainsFunc(r.when, func(m match) bool { return !slices.Contains(m.in, uint32(args[m.arg])&m.mask) }) {
			return r.then
		}
	}
	return f.verdict
}

type teller struct {
	*family
	name string
}

var (
	tellerOnce sync.Mutex
	tellerMap  = map[string]map[int32]teller{}
)

// tellers are the rows that tell, by number.
func tellers(goarch string) map[int32]teller {
	tellerOnce.Lock()
	defer tellerOnce.Unlock()
	if m, ok := tellerMap[goarch]; ok {
		return m
	}
	m := map[int32]teller{}
	for i := range table {
		if !table[i].tells() {
			continue
		}
		for name := range strings.FieldsSeq(table[i].calls) {
			if nr, _ := callNumber(goarch, name); nr != none {
				m[int32(nr)] = teller{&table[i], name}
			}
		}
	}
	tellerMap[goarch] = m
	return m
}
