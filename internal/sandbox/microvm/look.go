package microvm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// look sees an emulator from outside, as the host's kernel shows it: its network, its limits,
// the devices that it was told to make, and whether what it shares can be written, or shows what
// is hidden, from where it stands. It looks before the guest has booted: a machine that is not as
// it has to be is refused.
func look(first int, workspace string, walls *plan.Plan) (map[string]string, error) {
	below, err := sys.Below(first)
	if err != nil {
		return nil, err
	}
	if len(below) != 1 {
		return nil, refused(fmt.Sprintf("%d processes run in its jail", len(below)))
	}
	pid := below[0].PID
	id := strconv.Itoa(pid)
	if err := errors.Join(sameGroups("/proc", strconv.Itoa(first), id), bounds(pid, walls.Limits)); err != nil {
		return nil, err
	}
	argv, err := os.ReadFile("/proc/" + id + "/cmdline")
	if err != nil {
		return nil, err
	}
	n, err := probe.Namespace(id, "net")
	if err != nil {
		return nil, err
	}
	links, err := os.ReadFile("/proc/" + id + "/net/dev")
	if err != nil {
		return nil, err
	}
	seen := map[string]string{"machine.ns.net": strconv.FormatUint(n, 10), "machine.net": interfaces(links), "machine.nic": cards(argv)}
	root, err := unix.Open("/proc/"+id+"/root", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	seen["machine.tried"], seen["machine.share"] = tryShares(root, workspace, walls.Ops)
	switch {
	case seen["machine.nic"] != "none":
		return nil, refused("it has a network card: " + seen["machine.nic"])
	case seen["machine.net"] != "lo":
		return nil, refused("its network is not empty: " + seen["machine.net"])
	case seen["machine.share"] != "read-only":
		return nil, refused("a share is not read-only: " + seen["machine.share"])
	}
	if err := hides(root, walls.Ops); err != nil {
		return nil, refused("the share shows what the session hides: " + err.Error())
	}
	return seen, nil
}

// bounds wants the limits of a plan to bind a process. What is 0 has none.
func bounds(pid int, l plan.Limits) error {
	for what, most := range map[int]uint64{unix.RLIMIT_NPROC: l.Pids, unix.RLIMIT_NOFILE: l.Open, unix.RLIMIT_FSIZE: l.File} {
		var is unix.Rlimit
		if err := unix.Prlimit(pid, what, nil, &is); err != nil {
			return err
		}
		if most > 0 && is.Max > most {
			return refused(fmt.Sprintf("its limit %d is %d, and not %d", what, is.Max, most))
		}
	}
	return nil
}

// sameGroups wants the limits that bind the first process of the jail to bind the emulator.
func sameGroups(proc, first, id string) error {
	want, err := os.ReadFile(filepath.Join(proc, first, "cgroup"))
	if err != nil {
		return err
	}
	is, err := os.ReadFile(filepath.Join(proc, id, "cgroup"))
	if err == nil && !bytes.Equal(is, want) {
		err = refused("the limits of the session do not bind it")
	}
	return err
}

func refused(why string) error {
	return fault.New(fault.Refused, "run `ringfence doctor`", "the machine is not as it has to be: %s", why)
}

// interfaces lists the names in a table of network devices.
func interfaces(table []byte) string {
	var out []string
	for line := range bytes.Lines(table) {
		if name, _, ok := bytes.Cut(line, []byte(":")); ok {
			out = append(out, strings.TrimSpace(string(name)))
		}
	}
	return strings.Join(out, " ")
}

// cards lists the network devices of a command line: options for them, and devices whose
// names we do not give ourselves.
func cards(argv []byte) string {
	ours := []string{"virtio-serial-pci", "virtserialport", "virtio-9p-pci", "virtio-blk-pci", "virtio-rng-pci", "virtio-balloon-pci"}
	words := strings.Split(strings.TrimSuffix(string(argv), "\x00"), "\x00")
	var out []string
	for i, w := range words {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		name, _, _ := strings.Cut(value, ",")
		switch {
		case w == "-net", w == "-netdev", w == "-nic" && value != "none", w == "-device" && !slices.Contains(ours, name):
			out = append(out, w+" "+value)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
