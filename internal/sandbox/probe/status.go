package probe

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// readStatus returns the fields of a proc status file.
func readStatus(file string) map[string]string {
	b, err := os.ReadFile(file)
	if err != nil {
		return map[string]string{}
	}
	return ParseStatus(b)
}

// ParseStatus returns the fields of a proc status file.
func ParseStatus(b []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			out[k] = strings.TrimSpace(v)
		}
	}
	return out
}

// Capabilities wants all five sets empty.
func Capabilities(status map[string]string) Result {
	const name = "caps"
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if v := status[set]; strings.Trim(v, "0") != "" || v == "" {
			return open(name, "%s is %q", set, v)
		}
	}
	return closed(name, "all sets empty")
}

// NoNewPrivs wants the flag that makes set-user-ID inert. The kernel is asked: not every
// one says it in proc.
func NoNewPrivs(status map[string]string) Result {
	const name = "no-new-privs"
	if v, said := status["NoNewPrivs"]; said && v != "1" {
		return open(name, "NoNewPrivs is %q", v)
	}
	set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || set != 1 {
		return open(name, "the flag is %d (%v)", set, err)
	}
	return closed(name, "set")
}

// Filtered wants a filter, and wants it to answer: a call with a null pointer
// that the kernel would refuse with EFAULT is refused earlier.
func Filtered(status map[string]string) Result {
	const name = "seccomp"
	if v := status["Seccomp"]; v != "2" {
		return open(name, "mode is %q", v)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_BPF, 0, 0, 0)
	return refused(name, errno, unix.EPERM)
}

// filter is Filtered with a second answer that is our filter's own: some other
// one, of a container around us, is not what is asked for.
func filter(*Target) Result {
	const name = "seccomp"
	if r := Filtered(readStatus("/proc/self/status")); r.Open {
		return r
	}
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0)
	if r := refused(name, errno, unix.ENOSYS); r.Open {
		return open(name, "clone3: %s", r.Detail)
	}
	return closed(name, "mode 2; bpf and clone3 are answered by the filter")
}
