//go:build amd64

package vm

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"
	"ringfence.dev/ringfence/test/vm/serial"
)

// withoutLandlock is a configuration that leaves one wall out.
const withoutLandlock = "/etc/less"

var waivingPolicy = map[string]cpio.Entry{
	withoutLandlock[1:] + "/ringfence/policy.toml": {Mode: 0o644, Data: []byte(`[require]
walls = ["user", "mount", "pid", "ipc", "uts", "net", "cgroup", "keyring", "nested", "caps", "no-new-privs", "seccomp", "tty"]
`)},
}

// Landlock is built in and was not started: nothing runs, and a policy that leaves the
// wall out changes nothing.
func TestNoLandlock(t *testing.T) {
	m := boot(t, hardware{parameters: "lsm=yama", files: waivingPolicy})
	root := account{name: "root", parent: "/", pids: v2}
	t.Run("refused", func(t *testing.T) { refuses(t, m, root, "landlock", "lsm=") })
	o := m.run(t, serial.Command{Env: []string{"XDG_CONFIG_HOME=" + withoutLandlock}, Args: []string{"ringfence", "run", "--", "guest", "fork", "1"}})
	if o.Status != 125 || o.Stdout != "" || !strings.Contains(o.Stderr, `leaves out "landlock"`) {
		t.Errorf("with a policy that leaves it out: %+v", o)
	}
}

// A kernel from which things are really missing: memory is not accounted, and nftables
// is not loaded at first.
func TestReducedKernel(t *testing.T) {
	m := boot(t, hardware{parameters: "cgroup_disable=memory"})
	root := account{name: "root", parent: "/", pids: v2}
	ordinary := account{name: "user", uid: user}
	t.Run("nftables", func(t *testing.T) { needsNftables(t, m, root, ordinary) })
	t.Run("verify", func(t *testing.T) { holds(t, m, root) })
	t.Run("pids", func(t *testing.T) { limitsPids(t, m, root) })

	for _, knob := range []struct{ name, closed, open string }{
		{"kernel.unprivileged_userns_clone", "0", "1"},
		{"user.max_user_namespaces", "0", "1000"},
	} {
		t.Run(knob.name, func(t *testing.T) {
			file := "/proc/sys/" + strings.ReplaceAll(knob.name, ".", "/")
			m.set(t, file, knob.closed)
			refuses(t, m, ordinary, "user", "sysctl -w "+knob.name)
			m.set(t, file, knob.open)
		})
	}
	t.Run("cured", func(t *testing.T) {
		if o := m.as(t, ordinary, "ringfence", "run", "--", "guest", "fork", "1"); o.Status != 0 || o.Stdout != "1: none\n" {
			t.Errorf("control: %+v", o)
		}
	})
}

// refuses: without a required wall nothing runs, and both launch and doctor name
// the wall and its cure.
func refuses(t *testing.T, m *machine, a account, wall, cure string) {
	t.Helper()
	o := m.run(t, serial.Command{UID: a.uid, Env: a.env, Args: []string{"ringfence", "run", "--", "guest", "fork", "1"}})
	if o.Status != 125 || o.Stdout != "" {
		t.Errorf("run: status %d, stdout %q", o.Status, o.Stdout)
	}
	if !strings.Contains(o.Stderr, "wall "+wall+" cannot be raised") || !strings.Contains(o.Stderr, cure) {
		t.Errorf("run does not name %s and %s: %s", wall, cure, o.Stderr)
	}
	r, status := m.doctor(t, a)
	if status != 2 || r.Verdict != "unusable" {
		t.Errorf("doctor: status %d, %s", status, r.Verdict)
	}
	for _, row := range r.Results {
		if row.Name == wall && (row.Status != "unusable" || !strings.Contains(row.Fix, cure)) {
			t.Errorf("doctor: %+v", row)
		}
	}
}
