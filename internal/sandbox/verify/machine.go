package verify

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// A virtual machine is proved by its emulator, which is a process of this machine: what that
// one cannot reach and cannot write, nobody in the guest can. Whoever is root in the guest has
// no say in it.

// machines is what a virtual machine has beyond the walls in it.
func machines() []Check {
	return []Check{
		{N: 70, Name: "nic", Defence: "the machine has no network card", Mechanism: "no such device in the guest", Some: true},
		{N: 71, Name: "share", Defence: "no share can be written", Mechanism: "read-only on the host's side", Some: true},
	}
}

// proveMachine makes the results of the checks of a machine, of what the rung's own witness
// saw of it while it ran. The control asks the same of this very process.
func (c Config) proveMachine(p *plant, b battery) {
	claimed := slices.ContainsFunc(machines(), func(m Check) bool { return c.Rung.Leaves[m.Name] == "" })
	if !claimed {
		return
	}
	put := func(to map[string]probe.Result, name string, open bool, detail string) {
		to[name] = probe.Result{Name: name, Open: open, Detail: detail}
	}
	ours, err := probe.Namespace("self", "net")
	own := strconv.FormatUint(ours, 10)
	judged, _ := netOf(map[string]string{"machine.ns.net": own, "machine.nic": "none", "machine.net": "lo"}, ours)
	put(b.control, "nic", err == nil && judged, "this process is in the host's network, and is judged so")
	open, said := netOf(b.seen.Place, ours)
	put(b.inside, "nic", open, said)
	err = canWrite(p.workspace)
	put(b.control, "share", err == nil, "this process writes to the workspace")
	open, said = shareOf(b.seen.Place, p.workspace)
	put(b.inside, "share", open, said)
}

// netOf judges the network around a machine, and its devices.
func netOf(seen map[string]string, ours uint64) (open bool, said string) {
	switch {
	case seen["machine.ns.net"] == "", seen["machine.nic"] == "", seen["machine.net"] == "":
		return true, "nobody saw the machine"
	case seen["machine.ns.net"] == strconv.FormatUint(ours, 10):
		return true, "the emulator is in the host's network"
	case seen["machine.nic"] != "none":
		return true, "the machine has " + seen["machine.nic"]
	case strings.Fields(seen["machine.net"])[0] != "lo" || len(strings.Fields(seen["machine.net"])) != 1:
		return true, "around the machine there is " + seen["machine.net"]
	}
	return false, "no device, and nothing but loopback around the emulator"
}

// shareOf judges what became of writing to the workspace from where the emulator stands.
func shareOf(seen map[string]string, workspace string) (open bool, said string) {
	if tried := seen["machine.tried"]; tried != workspace {
		return true, "nobody tried to write to the workspace from the emulator's side"
	}
	if seen["machine.share"] != "read-only" {
		return true, "from the emulator's side: " + seen["machine.share"]
	}
	return false, "from the emulator's side nothing that is shared can be written"
}

// canWrite tries to make a file.
func canWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".ringfence-verify-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(filepath.Join(dir, filepath.Base(f.Name()))))
}
