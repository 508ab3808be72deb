//go:build amd64

package vm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/tier"
	"ringfence.dev/ringfence/test/vm/serial"
)

const user = 1000

// account is somebody who runs ringfence, and what limits he can have there.
type account struct {
	name   string
	uid    int
	group  string // where his processes are born
	parent string // where the groups of his sessions are; "" if he can have none
	pids   string // what enforces the limits; "" if nothing does
	memory string
	env    []string
	proved bool // his walls are the same as under another name: only limits differ
}

const v2 = "cgroup v2"

// accounts of a machine without systemd. The first finds the kernel as it booted.
var accounts = []account{
	{name: "user", uid: user, pids: "rlimit"},
	{name: "root", parent: "/", pids: v2, memory: v2},
	{name: "delegated", uid: user, group: "lent/leaf", parent: "/lent", pids: v2, memory: v2, proved: true},
}

func TestStockKernel(t *testing.T) {
	m := boot(t, hardware{files: strictPolicy})
	if before := m.loaded(t); before != nil {
		t.Errorf("%q are loaded before anybody has asked for them", before)
	}
	for _, a := range accounts {
		if a.group != "" {
			m.delegate(t, a)
		}
		t.Run(a.name, func(t *testing.T) { claims(t, m, a) })
	}
	if after := m.loaded(t); !slices.Equal(after, wanted) {
		t.Errorf("of %q the kernel has loaded %q", wanted, after)
	}
}

// loaded returns the modules that are wanted and that the kernel has.
func (m *machine) loaded(t *testing.T) (names []string) {
	t.Helper()
	o := m.run(t, serial.Command{Args: []string{"guest", "show", "/proc/modules"}})
	if o.Status != 0 {
		t.Fatalf("%+v", o)
	}
	for _, name := range wanted {
		if strings.Contains("\n"+o.Stdout, "\n"+name+" ") {
			names = append(names, name)
		}
	}
	return names
}

// claims are what must be true for every account.
func claims(t *testing.T, m *machine, a account) {
	t.Run("doctor", func(t *testing.T) { diagnoses(t, m, a) })
	if !a.proved || tier.All() {
		t.Run("verify", func(t *testing.T) { holds(t, m, a) })
	}
	t.Run("pids", func(t *testing.T) { limitsPids(t, m, a) })
	t.Run("memory", func(t *testing.T) { limitsMemory(t, m, a) })
	t.Run("end", func(t *testing.T) { leavesNothing(t, m, a, "end", 0) })
	t.Run("kill", func(t *testing.T) { leavesNothing(t, m, a, "kill", 137) })
	t.Run("required", func(t *testing.T) { insists(t, m, a) })
}

// as runs a program for an account, with a terminal to talk to.
func (m *machine) as(t *testing.T, a account, args ...string) serial.Outcome {
	t.Helper()
	return m.run(t, serial.Command{UID: a.uid, Group: a.group, Env: a.env, Args: args, TTY: true})
}

// limited is ringfence with the limits that an account can have.
func limited(a account, args ...string) []string {
	line := []string{"ringfence", "run", "--verbose", "--pids", "64"}
	if a.memory != "" {
		line = append(line, "--memory", "64MiB")
	}
	return append(append(line, "--"), args...)
}

// delegate lends an account the tree above its group.
func (m *machine) delegate(t *testing.T, a account) {
	t.Helper()
	top, _, _ := strings.Cut(a.group, "/")
	m.set(t, "/sys/fs/cgroup/cgroup.subtree_control", "+pids +memory")
	m.group(t, top, a.uid)
	m.group(t, a.group, a.uid)
}

func (m *machine) set(t *testing.T, file, value string) {
	t.Helper()
	if o := m.run(t, serial.Command{Args: []string{"guest", "put", file, value}}); o.Status != 0 {
		t.Fatalf("%+v", o)
	}
}

func (m *machine) group(t *testing.T, dir string, uid int) {
	t.Helper()
	if o := m.run(t, serial.Command{Args: []string{"guest", "group", dir, fmt.Sprint(uid)}}); o.Status != 0 {
		t.Fatalf("%+v", o)
	}
}

// report is what doctor prints.
type report struct {
	Verdict string
	Facts   struct {
		Kernel   string
		Landlock int
	}
	Results []struct{ Name, Status, Detail, Fix string }
}

func (m *machine) doctor(t *testing.T, a account) (r report, status int) {
	t.Helper()
	o := m.as(t, a, "ringfence", "doctor", "--json")
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, o)
	}
	return r, o.Status
}

// diagnoses: doctor knows the kernel, finds every wall, and says of the limits
// what the account is known to get.
func diagnoses(t *testing.T, m *machine, a account) {
	r, status := m.doctor(t, a)
	if r.Facts.Kernel != m.release || len(r.Results) < 15 {
		t.Fatalf("kernel %q, want %q; %d results", r.Facts.Kernel, m.release, len(r.Results))
	}
	var degraded []string
	if r.Facts.Landlock < 3 { // Debian 12
		degraded = append(degraded, "landlock")
	}
	if a.memory == "" {
		degraded = append(degraded, "limits")
	}
	if want := min(len(degraded), 1); status != want {
		t.Errorf("status %d, want %d", status, want)
	}
	for _, row := range r.Results {
		want := "ok"
		if slices.Contains(degraded, row.Name) {
			want = "degraded"
		}
		if row.Status != want {
			t.Errorf("%s is %s, want %s: %s", row.Name, row.Status, want, row.Detail)
		}
		if row.Name == "limits" && a.memory != "" && row.Detail != "pids by "+a.pids+", memory by "+a.memory {
			t.Errorf("limits: %s", row.Detail)
		}
	}
}

// holds: every check of verify.
func holds(t *testing.T, m *machine, a account) {
	o := m.as(t, a, "ringfence", "verify", "--json")
	var r struct {
		Rows []struct{ Name, Result, Detail string }
	}
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, o)
	}
	if o.Status != 0 || len(r.Rows) < 60 {
		t.Errorf("status %d, %d checks", o.Status, len(r.Rows))
	}
	for _, row := range r.Rows {
		if row.Result != "held" && (row.Result != "n/a" || !slices.Contains([]string{"kernel", "link", "link-end", "nic", "share"}, row.Name)) {
			t.Errorf("%s is %s: %s", row.Name, row.Result, row.Detail)
		}
	}
}
