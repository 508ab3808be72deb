//go:build amd64

package vm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"
	"ringfence.dev/ringfence/test/vm/serial"
)

// limitsPids: outside eighty processes can be made, inside not as many as the
// limit, because the sandbox has some of its own; and the card says what counts.
func limitsPids(t *testing.T, m *machine, a account) {
	if o := m.as(t, a, "guest", "fork", "80"); o.Stdout != "80: none\n" {
		t.Fatalf("control: outside: %+v", o)
	}
	o := m.as(t, a, limited(a, "guest", "fork", "80")...)
	var made int
	var why string
	if _, err := fmt.Sscanf(o.Stdout, "%d: %s\n", &made, &why); err != nil || o.Status != 0 {
		t.Fatalf("%v: %+v", err, o)
	}
	if why != "EAGAIN" || made < 32 || made >= 64 {
		t.Errorf("inside, fork %d: %s", made, why)
	}
	checkCard(t, a, o)
}

// limitsMemory: outside 128 MiB can be had, inside the kernel kills who takes
// them and the summary says so; or else nothing starts that wants the limit.
func limitsMemory(t *testing.T, m *machine, a account) {
	if o := m.as(t, a, "guest", "hog", "128"); o.Stdout != "touched\n" {
		t.Fatalf("control: outside: %+v", o)
	}
	if a.memory == "" {
		o := m.as(t, a, "ringfence", "run", "--memory", "64MiB", "--", "guest", "hog", "128")
		if o.Status != 125 || o.Stdout != "" || !strings.Contains(o.Stderr, `limit "memory" was asked for (flag --memory) and is not enforced: cgroup v2: `) {
			t.Errorf("nothing enforces the limit, but: %+v", o)
		}
		return
	}
	o := m.as(t, a, limited(a, "guest", "hog", "128")...)
	checkCard(t, a, o)
	if o.Status != 137 || o.Stdout != "" {
		t.Errorf("inside: %+v", o)
	}
	if !strings.Contains(o.Stderr, "killed at the memory limit of 64 MiB") {
		t.Errorf("the summary does not say why: %s", o.Stderr)
	}
}

// checkCard holds the launch card to the truth about an account's limits.
func checkCard(t *testing.T, a account, o serial.Outcome) {
	t.Helper()
	want := regexp.MustCompile(fmt.Sprintf(`  limits     processes 64 \(%s\), memory 64 MiB \(%s\)\r\n`, a.pids, a.memory))
	if a.memory == "" { // the share of the machine that nobody asked for
		want = regexp.MustCompile(fmt.Sprintf(`  limits     processes 64 \(%s\), memory [0-9.]+ [MG]iB not enforced\r\n`, a.pids))
	}
	if !want.MatchString(o.Stderr) {
		t.Errorf("the card lacks %s: %s", want, o.Stderr)
	}
}

// leavesNothing: while it runs, a session has one group with its limits and
// everything of the agent in it; afterwards neither the group nor a process.
func leavesNothing(t *testing.T, m *machine, a account, ending string, status int) {
	const children = 5
	o := m.run(t, serial.Command{UID: a.uid, Group: a.group, Env: a.env,
		Args: append([]string{"guest", "watch", ending}, limited(a, "guest", "hold", fmt.Sprint(children))...)})
	var w serial.Watched
	if err := json.Unmarshal([]byte(o.Stdout), &w); err != nil {
		t.Fatalf("%v: %+v", err, o)
	}
	want := serial.Watched{Status: status}
	if a.parent != "" {
		// PID 1 of the sandbox, the agent and its children.
		want.Members, want.Janitors = 2+children, 1
		want.Groups = []serial.Group{{Parent: a.parent, Pids: "64", Memory: "67108864", Swap: "0"}}
	}
	for i := range w.Groups {
		if !strings.HasPrefix(w.Groups[i].Name, "ringfence-") {
			t.Errorf("a group is called %q", w.Groups[i].Name)
		}
		w.Groups[i].Name = ""
	}
	if d := cmp.Diff(want, w); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// strict is a configuration that wants its limits or nothing.
const strict = "/etc/strict"

var strictPolicy = map[string]cpio.Entry{
	strict[1:] + "/ringfence/policy.toml": {Mode: 0o644, Data: []byte("[require]\nlimits = [\"pids\", \"memory\"]\n")},
}

// insists: where policy requires a limit that nothing enforces, nothing runs.
func insists(t *testing.T, m *machine, a account) {
	o := m.run(t, serial.Command{UID: a.uid, Group: a.group,
		Args: limited(a, "guest", "fork", "1"), Env: append([]string{"XDG_CONFIG_HOME=" + strict}, a.env...)})
	if a.memory != "" {
		if o.Status != 0 || o.Stdout != "1: none\n" {
			t.Errorf("both limits hold, but: %+v", o)
		}
		return
	}
	if o.Status != 125 || o.Stdout != "" || !strings.Contains(o.Stderr, `limit "memory" is required`) {
		t.Errorf("%+v", o)
	}
}
