// Package witness judges whether the walls of a sandbox stand, before anything runs in it: by
// what was seen of them from outside, and by what the probes saw from inside. What nobody asked
// about does not stand.
package witness

import (
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// namespaceFiles are the names in /proc/PID/ns by which a namespace is known.
var namespaceFiles = map[plan.Wall]string{plan.WallUser: "user", plan.WallMount: "mnt", plan.WallPID: "pid",
	plan.WallIPC: "ipc", plan.WallUTS: "uts", plan.WallNet: "net", plan.WallCgroup: "cgroup"}

// probeWall says which wall a probe at launch speaks for.
var probeWall = map[string]plan.Wall{"caps": plan.WallCaps, "no-new-privs": plan.WallNoNewPriv, "seccomp": plan.WallSeccomp,
	"tty": plan.WallTTY, "nested": plan.WallNested, "mount-calls": plan.WallSeccomp, "keyring": plan.WallKeyring,
	"landlock": plan.WallLandlock, "view": plan.WallMount, "net": plan.WallNet, "pid": plan.WallPID, "threads": plan.WallSeccomp}

// Judge judges what a rung's witness saw from outside, and what the probes saw from
// inside. Both must agree that every required wall stands.
func Judge(required []plan.Wall) func(rung.Seen) error {
	return func(seen rung.Seen) error {
		for _, w := range required {
			if name, ok := namespaceFiles[w]; ok {
				if err := ownNamespace(seen.Outside, name); err != nil {
					return missing(w, err.Error())
				}
			}
		}
		if slices.Contains(required, plan.WallKeyring) {
			if err := ownKeyring(seen); err != nil {
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
		return confinedStatus(seen.Outside, required)
	}
}

func missing(w plan.Wall, detail string) error {
	return fault.New(fault.Refused, "run `ringfence doctor` to see what this host can enforce", "wall %s is missing: %s", w, detail)
}

// ownKeyring compares the session keyring inside with that of this thread, which forked it, or
// with that of the far end that did.
func ownKeyring(seen rung.Seen) error {
	here, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	if err != nil {
		here = 0
	}
	theirs, ours := strconv.Itoa(seen.Keyring), probe.Looker(seen.Outside, probe.LookerKeyring, uint64(here))
	if seen.Keyring == 0 || ours == theirs {
		return fmt.Errorf("the sandbox has keyring %s, its witness has %s", theirs, ours)
	}
	return nil
}

func ownNamespace(outside map[string]string, name string) error {
	ours, err := probe.Namespace("self", name)
	if err != nil {
		return err
	}
	switch theirs := outside["ns."+name]; theirs {
	case "":
		return fmt.Errorf("nobody outside saw the %s namespace", name)
	case probe.Looker(outside, probe.LookerNS+name, ours):
		return fmt.Errorf("from outside, the sandbox shares the %s namespace of the witness", name)
	}
	return nil
}

// confinedStatus judges what the kernel says of the process that will fork the agent.
func confinedStatus(outside map[string]string, required []plan.Wall) error {
	for _, want := range []struct {
		wall       plan.Wall
		key, value string
	}{
		{plan.WallCaps, "CapPrm", "0000000000000000"}, {plan.WallNoNewPriv, "NoNewPrivs", "1"}, {plan.WallSeccomp, "Seccomp", "2"},
	} {
		if slices.Contains(required, want.wall) && outside["status."+want.key] != want.value {
			return missing(want.wall, fmt.Sprintf("from outside, %s is not %s", want.key, want.value))
		}
	}
	return nil
}
