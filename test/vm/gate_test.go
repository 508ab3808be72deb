//go:build amd64

package vm

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/test/vm/serial"
)

var modprobeHint = regexp.MustCompile(`sudo modprobe -a ([\w ]+); or start without a network: --net none`)

// needsNftables: where the kernel lacks any part of what the gate is made of, nothing
// starts but what wants no network. The parts are those that the hint names. They are
// loaded one after the other, so the rules are refused in every place where they can
// be; with the last one the gate opens.
func needsNftables(t *testing.T, m *machine, accounts ...account) {
	if o := m.bait(t, accounts[0], "guest", "bite"); o.Came != 1 || o.Stdout != "reached\n" {
		t.Fatalf("control: outside: %+v", o)
	}
	const loader = "/proc/sys/kernel/modprobe"
	m.set(t, loader, "/nothing") // or the kernel would help itself
	parts := remedy(t, m, accounts[0])
	for _, part := range parts {
		for _, a := range accounts {
			if again := remedy(t, m, a); !slices.Equal(again, parts) {
				t.Errorf("%s: the hint names %q, and before %q", a.name, again, parts)
			}
			starts(t, m, a, "--net", "none")
		}
		if o := m.run(t, serial.Command{Args: []string{"/sbin/modprobe", "-a", part}}); o.Status != 0 {
			t.Fatalf("%+v", o)
		}
	}
	for _, a := range accounts {
		starts(t, m, a)
	}
	m.set(t, loader, "/sbin/modprobe")
}

// remedy has a launch refused because the gate cannot be opened, and returns the
// modules that the hint names. The agent has not run, and nothing is left.
func remedy(t *testing.T, m *machine, a account) []string {
	t.Helper()
	got := m.bait(t, a, "ringfence", "run", "--", "guest", "bite")
	said := got.Stderr
	got.Stderr = ""
	if d := cmp.Diff(serial.Baited{Status: 125}, got); d != "" {
		t.Errorf("%s: -want +got:\n%s", a.name, d)
	}
	hint := modprobeHint.FindStringSubmatch(said)
	if hint == nil || !strings.Contains(said, "the gate cannot be opened: nftables: ") {
		t.Fatalf("%s: the launch says neither why nor what helps: %s", a.name, said)
	}
	return strings.Fields(hint[1])
}

// starts: the agent runs and does not get to the machine's loopback.
func starts(t *testing.T, m *machine, a account, flags ...string) {
	t.Helper()
	got := m.bait(t, a, slices.Concat([]string{"ringfence", "run"}, flags, []string{"--", "guest", "bite"})...)
	said := got.Stderr
	got.Stderr = "" // may warn of limits
	if d := cmp.Diff(serial.Baited{Stdout: "not reached\n"}, got); d != "" {
		t.Errorf("%s %q: %s-want +got:\n%s", a.name, flags, said, d)
	}
}

// bait runs a program while something waits for it on the machine's loopback.
func (m *machine) bait(t *testing.T, a account, args ...string) serial.Baited {
	t.Helper()
	o := m.run(t, serial.Command{UID: a.uid, Group: a.group, Env: a.env, Args: append([]string{"guest", "bait"}, args...)})
	var b serial.Baited
	if err := json.Unmarshal([]byte(o.Stdout), &b); err != nil {
		t.Fatalf("%v: %+v", err, o)
	}
	return b
}
