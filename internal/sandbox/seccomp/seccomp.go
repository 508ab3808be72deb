// Package seccomp holds the syscall filter that everything inside runs under:
// which calls there are, with the reason beside each verdict, and the small
// compiler that turns that table into a classic BPF program.
//
// The filter is the second line. Namespaces, dropped capabilities and Landlock
// already decide what the agent may reach; the filter takes away the parts of
// the kernel that could undo those walls or that have no use but to be attacked.
// So every call is named and judged, and a number that nobody has judged does
// not exist (ENOSYS): a kernel that grows a call does not widen the sandbox.
//
// Two facts of seccomp shape the table. A filter sees registers, never memory:
// a call whose flags lie behind a pointer (clone3) cannot be judged by them and
// is answered with ENOSYS. And registers have 64 bits where most arguments are
// ints of which the kernel reads the lower half: every comparison is made on
// the low 32 bits, because one on all 64 is passed by setting an upper one.
//
// Left at risk: what an allowed call does inside the kernel. Pathnames cannot
// be judged here at all; that is the mount view's and Landlock's work.
//
// The compiler is our own because gvisor.dev/gvisor/pkg/seccomp, measured with
// a table of this size, needs 15 to 20 ms to build the program (unoptimised 3 ms,
// and then 2100 instructions) where a fresh process here needs 0.25 ms for 280.
// It would also add 0.7 MB and its logger's initialisation to every start, and
// it fixes the architecture when it is compiled, so that the arm64 program could
// be made and tested on arm64 alone.
package seccomp

import (
	"fmt"
	"slices"
)

// auditArch maps GOARCH to the kernel's AUDIT_ARCH_*. The whole package is pure
// so that plans for either architecture are made and tested anywhere.
func auditArch(goarch string) (uint32, bool) {
	switch goarch {
	case "amd64":
		return 0xc000003e, true
	case "arm64":
		return 0xc00000b7, true
	}
	return 0, false
}

// Filter returns the program for one architecture, named as GOARCH names it, as
// the array of struct sock_filter that seccomp(SECCOMP_SET_MODE_FILTER) takes.
// Both architectures are little-endian, and so is the result. It must be loaded
// with SECCOMP_FILTER_FLAG_TSYNC in a Go program: a thread of the runtime that
// has no filter is a way around it.
func Filter(goarch string) ([]byte, error) { return program(goarch, &unjudged, table[:]...) }

// Heard returns the program that stands in the place of Filter's where Watch's is loaded
// too: refusals that are told pass here, and there they come to the keeper, which answers
// them as Filter would. See told.go for why that gives nothing away.
func Heard(goarch string) ([]byte, error) {
	return program(goarch, &unjudged, outcomes(table[:], func(v verdict) verdict {
		if v.told() {
			return allow
		}
		return v
	})...)
}

// Review returns a program to be loaded beside Filter's in the review view: a file of
// the lower layer of an overlay gets another number when it is linked, which git
// takes for a race and fails. With the answer that is usual between two file systems
// tools copy.
func Review(goarch string) ([]byte, error) { return program(goarch, &unwatched, unlinked) }

var unlinked = family{why: "see Review", verdict: errno | 18, calls: "link linkat"}

// Sentry returns the program for gVisor's kernel, in the place of Filter's and Review's.
// That kernel asks a filter before a tracer and not again: a tracer could have any call
// made in the place of one that is allowed. Debuggers that stop at no call go on working.
func Sentry(goarch string, review bool) ([]byte, error) {
	rows := append(slices.Clone(table[:]), untraced)
	if review {
		rows = append(rows, unlinked)
	}
	return program(goarch, &unjudged, rows...)
}

// untraced refuses the ways to stop at a call: PTRACE_SYSCALL, PTRACE_SYSEMU and
// PTRACE_SYSEMU_SINGLESTEP, and PTRACE_O_TRACESECCOMP in PTRACE_SETOPTIONS and PTRACE_SEIZE.
var untraced = family{why: "see Sentry", verdict: allow, calls: "ptrace", rules: []rule{
	{[]match{{0, all, []uint32{24, 31, 32}}}, refuse},
	{[]match{{0, all, []uint32{0x4200, 0x4206}}, {3, 0x80, []uint32{0x80}}}, refuse},
}}

// program compiles rows, of which the last that names a call has the word; a call that
// none names is other.
func program(goarch string, other *family, rows ...family) ([]byte, error) {
	audit, ok := auditArch(goarch)
	if !ok {
		return nil, fmt.Errorf("seccomp: no syscall table for architecture %q", goarch)
	}
	spans, err := spansOf(goarch, rows, other)
	if err != nil {
		return nil, err
	}
	return encode(compile(audit, spans)), nil
}

// Watch returns the program that hands the calls of the watched table to the
// keeper. It is loaded beside Filter's, which has the stricter word: a call that
// is refused there is never seen here.
func Watch(goarch string) ([]byte, error) {
	return program(goarch, &unwatched, append(handedOver(), watched[:]...)...)
}

// Tell returns the program that hands over refusals that are told and nothing else, for a
// view without a keeper of trees. It goes with Heard's, as Watch's does.
func Tell(goarch string) ([]byte, error) {
	return program(goarch, &unwatched, append(handedOver(), lone)...)
}
