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

// look sees an emulator from outside, as the host's kernel shows it: its network, the devices
// that it was told to make, and whether what it shares can be written from where it stands.
// A machine that is not as it has to be is refused.
func look(first int, workspace string, session *plan.Plan) (map[string]string, error) {
	below, err := sys.Below(first)
	if err != nil {
		return nil, err
	}
	if len(below) != 1 {
		return nil, refused(fmt.Sprintf("%d processes run in its jail", len(below)))
	}
	id := strconv.Itoa(below[0].PID)
	if err := sameGroups("/proc", strconv.Itoa(first), id); err != nil {
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
	seen["machine.tried"], seen["machine.share"] = tryShares("/proc/"+id+"/root"+shareAt, workspace, written(session))
	switch {
	case seen["machine.nic"] != "none":
		return nil, refused("it has a network card: " + seen["machine.nic"])
	case seen["machine.net"] != "lo":
		return nil, refused("its network is not empty: " + seen["machine.net"])
	case seen["machine.share"] != "read-only":
		return nil, refused("a share is not read-only: " + seen["machine.share"])
	}
	return seen, nil
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

// tryShares tries to write to shares, and says that the workspace was tried and what came of
// all. What nobody tried is not read-only.
func tryShares(root, workspace string, others []string) (tried, share string) {
	share = "nobody tried"
	for _, dir := range append([]string{workspace}, others...) {
		if err := refusesWrites(root, dir); err != nil {
			return tried, err.Error()
		}
		if dir == workspace {
			tried = dir
		}
		share = "read-only"
	}
	return tried, share
}

// written are the directories that the session can change, in its own view.
func written(p *plan.Plan) (out []string) {
	for _, o := range p.Ops {
		if o.Do == plan.DoLayer || o.Do == plan.DoBind && o.Write {
			out = append(out, string(o.Dst))
		}
	}
	return out
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

// refusesWrites tries to make a file where an emulator has a directory of ours, and wants the
// kernel to say that it is read-only. What is a file is opened for writing.
func refusesWrites(root, dir string) error {
	at := filepath.Join(root, dir)
	var st unix.Stat_t
	if err := unix.Lstat(at, &st); err != nil {
		return err
	}
	flags := unix.O_WRONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		at, flags = filepath.Join(at, ".ringfence-tried"), flags|unix.O_CREAT|unix.O_EXCL
	}
	fd, err := unix.Open(at, flags, 0o600)
	if err == nil {
		unix.Close(fd)
		if flags&unix.O_CREAT != 0 {
			unix.Unlink(at)
		}
		return fmt.Errorf("%q can be written", dir)
	}
	if !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("%q: %w", dir, err)
	}
	return nil
}
