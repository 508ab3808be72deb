package supervisor

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// namespaceFiles are the names in /proc/PID/ns by which a namespace is known.
var namespaceFiles = map[plan.Wall]string{plan.WallUser: "user", plan.WallMount: "mnt", plan.WallPID: "pid",
	plan.WallIPC: "ipc", plan.WallUTS: "uts", plan.WallNet: "net", plan.WallCgroup: "cgroup"}

// probeWall says which wall a probe at launch speaks for.
var probeWall = map[string]plan.Wall{"caps": plan.WallCaps, "no-new-privs": plan.WallNoNewPriv, "seccomp": plan.WallSeccomp,
	"tty": plan.WallTTY, "nested": plan.WallNested, "mount-calls": plan.WallSeccomp, "keyring": plan.WallKeyring,
	"landlock": plan.WallLandlock, "view": plan.WallMount, "net": plan.WallNet, "pid": plan.WallPID, "threads": plan.WallSeccomp}

// witness looks at the first process inside from the host, and at what its own
// probes saw. Both must agree that every required wall stands.
func witness(required []plan.Wall) func(int, rung.Evidence) error {
	return func(pid int, seen rung.Evidence) error {
		for _, w := range required {
			if name, ok := namespaceFiles[w]; ok {
				if err := ownNamespace(pid, name); err != nil {
					return missing(w, err.Error())
				}
			}
		}
		if slices.Contains(required, plan.WallKeyring) {
			if err := ownKeyring(seen.Keyring); err != nil {
				return missing(plan.WallKeyring, err.Error())
			}
		}
		if len(seen.Probes) < len(probeWall) {
			return missing("", fmt.Sprintf("only %d of %d probes at launch answered", len(seen.Probes), len(probeWall)))
		}
		for _, o := range seen.Probes {
			if w := probeWall[o.Probe]; o.Open && slices.Contains(required, w) {
				return missing(w, "from inside, "+o.Probe+": "+o.Detail)
			}
		}
		return confinedStatus(pid, required)
	}
}

func missing(w plan.Wall, detail string) error {
	return fault.New(fault.Refused, "run `ringfence doctor` to see what this host can enforce", "wall %s is missing: %s", w, detail)
}

// ownKeyring compares the session keyring inside with that of this thread, which
// forked it.
func ownKeyring(theirs int) error {
	ours, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	if theirs == 0 || err == nil && ours == theirs {
		return fmt.Errorf("the sandbox has keyring %d, we have %d", theirs, ours)
	}
	return nil
}

func ownNamespace(pid int, name string) error {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
	if err != nil {
		return err
	}
	ours, err := os.Readlink("/proc/self/ns/" + name)
	if err != nil {
		return err
	}
	if ours == theirs {
		return fmt.Errorf("from outside, the sandbox shares our %s namespace", name)
	}
	return nil
}

// confinedStatus reads what the kernel says of the thread that will fork the
// agent. The others are looked at from inside (probe.Threads): once a thread's
// name is in the host's proc, the kernel takes it out at the thread's end, and our
// wait for PID 1 would spin against that for up to a time slice.
func confinedStatus(pid int, required []plan.Wall) error {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return missing("", err.Error())
	}
	for _, want := range []struct {
		wall       plan.Wall
		key, value string
	}{
		{plan.WallCaps, "CapPrm", "0000000000000000"}, {plan.WallNoNewPriv, "NoNewPrivs", "1"}, {plan.WallSeccomp, "Seccomp", "2"},
	} {
		if slices.Contains(required, want.wall) && !strings.Contains(string(b), "\n"+want.key+":\t"+want.value+"\n") {
			return missing(want.wall, fmt.Sprintf("from outside, %s is not %s", want.key, want.value))
		}
	}
	return nil
}
