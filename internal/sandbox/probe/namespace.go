package probe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Kinds are the namespaces, by their names in /proc/PID/ns.
func Kinds() []string { return []string{"user", "mnt", "pid", "ipc", "uts", "net", "cgroup"} }

// Namespace returns the inode number by which a namespace of a process is known.
func Namespace(pid, kind string) (uint64, error) {
	link, err := os.Readlink("/proc/" + pid + "/ns/" + kind)
	if err != nil {
		return 0, err
	}
	number, ok := strings.CutPrefix(link, kind+":[")
	if !ok || !strings.HasSuffix(number, "]") {
		return 0, fmt.Errorf("namespace link %q", link)
	}
	return strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
}

// What a witness on another kernel says of itself: LookerNS begins the names of its namespaces,
// LookerKeyring is its session keyring.
const (
	LookerNS      = "looker.ns."
	LookerKeyring = "looker.keyring"
)

// Looker is the number by which something of whoever looked is known: of this process, or of a
// far end, which always says it (far.hear wants that).
func Looker(outside map[string]string, name string, here uint64) string {
	return cmp.Or(outside[name], strconv.FormatUint(here, 10))
}

// separate wants a namespace that is not the host's.
func separate(name, kind string, t *Target) Result {
	n, err := Namespace("self", kind)
	if err != nil {
		return open(name, "%v", err)
	}
	if n == t.NS[kind] {
		return open(name, "this is the %s namespace of the host", kind)
	}
	return closed(name, "own %s namespace", kind)
}

// entered wants a user namespace of its own, and in it the user that was outside and no
// other.
func entered(t *Target) Result {
	if uid := os.Getuid(); uid != t.UID {
		return open("entered", "the user is %d and was %d", uid, t.UID)
	}
	if r := separate("entered", "user", t); r.Open {
		return r
	}
	if onSentry() {
		return enteredSentry(t.UID)
	}
	b, err := os.ReadFile("/proc/self/uid_map")
	if f := strings.Fields(string(b)); err != nil || len(f) != 3 || f[2] != "1" {
		return open("entered", "other users exist: %q (%v)", strings.Join(f, " "), err)
	}
	return closed("entered", "own user namespace, with one user")
}

// enteredSentry tries to become another user. The sentry's own user namespace has all
// numbers, and its file server only one: what counts is that no other can be had.
func enteredSentry(uid int) Result {
	for _, other := range []int{0, uid + 1} {
		if other == uid {
			continue
		}
		if err := become(other); !errors.Is(err, unix.EPERM) {
			return open("entered", "user %d was asked for: %v", other, err)
		}
	}
	return closed("entered", "the users of another kernel, and no other than %d can be had", uid)
}

// become makes one thread another user, and ends it.
func become(uid int) error {
	answer := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // until its end
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
		answer <- errno
	}()
	return <-answer
}

// hostname wants a name that is not the host's.
func hostname(t *Target) Result {
	const name = "uts"
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return open(name, "%v", err)
	}
	node, _, _ := bytes.Cut(u.Nodename[:], []byte{0})
	if t.Hostname != "" && string(node) == string(t.Hostname) {
		return open(name, "the name is the host's")
	}
	return separate(name, "uts", t)
}

// sharedMemory wants the segment that the host made out of reach.
func sharedMemory(t *Target) Result {
	const name = "ipc"
	b, err := unix.SysvShmAttach(t.Segment, 0, unix.SHM_RDONLY)
	if err == nil {
		defer unix.SysvShmDetach(b)
		if t.carries(b) {
			return open(name, "the canary was read from a segment of the host")
		}
	}
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return open(name, "segment of the host: %v", err)
	}
	return separate(name, "ipc", t)
}

// Network wants no interface but loopback, and the pair by which a sentry is joined to its
// gate. That pair is made with the sandbox: no interface of a host has its addresses.
func Network() Result {
	const name = "net"
	b, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return open(name, "%v", err)
	}
	for line := range strings.Lines(string(b)) {
		dev, _, ok := strings.Cut(line, ":")
		if dev = strings.TrimSpace(dev); ok && dev != "lo" && !ownVeth(dev) {
			return open(name, "interface %q", dev)
		}
	}
	return closed(name, "own interfaces only")
}

func ownVeth(dev string) bool {
	i, err := net.InterfaceByName(dev)
	return err == nil && len(i.HardwareAddr) == 6 && slices.Contains(plan.VethMAC[:], [6]byte(i.HardwareAddr))
}

func interfaces(t *Target) Result {
	if r := Network(); r.Open {
		return r
	}
	return separate("net", "net", t)
}
