package hostfacts

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// probeOn runs the probes on a host that lacks something.
func probeOn(t *testing.T, name string, attr *syscall.SysProcAttr) probed {
	t.Helper()
	c := exec.Command("/proc/self/exe", "__lame", name)
	c.SysProcAttr, c.Stderr = attr, os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var p probed
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return p
}

func (p probed) result(t *testing.T, name string) Result {
	t.Helper()
	for _, r := range p.Results {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no result named %q", name)
	return Result{}
}

// This machine must be able to raise every wall, or the tests of the walls
// themselves would prove nothing.
func TestProbeHere(t *testing.T) {
	f, results := Probe(context.Background())
	want := []string{"kernel", "user", "mount", "mount-api", "pid", "proc", "devpts", "ipc", "uts", "net", "gate", "cgroup",
		"keyring", "nested", "caps", "no-new-privs", "landlock", "seccomp", "tty", "overlay", "limits"}
	if len(results) != len(want) {
		t.Fatalf("%d results, want %d", len(results), len(want))
	}
	for i, r := range results {
		if r.Name != want[i] {
			t.Errorf("result %d is %q, want %q: the order of launch", i, r.Name, want[i])
		}
		if r.Status != OK && r.Name != "limits" {
			t.Errorf("%+v", r)
		}
		if r.Status != OK && r.Fix == "" {
			t.Errorf("%s has no fix", r.Name)
		}
		if r.Name == "overlay" && r.Detail != "" {
			t.Errorf("overlay: %s", r.Detail)
		}
	}
	if f.Landlock == 0 || f.Kernel == "" || f.Calls.OpenTree != Present {
		t.Errorf("facts %+v", f)
	}
}

func TestResultsAreSafeToPaste(t *testing.T) {
	t.Setenv("RINGFENCE_TEST_SECRET", "canary-5f1d")
	t.Setenv("HOME", "/home/canary-user")
	t.Setenv("USER", "canary-user")
	p := probeOn(t, "container", nil)
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := os.Getwd()
	exe, _ := os.Executable()
	for _, secret := range []string{"canary-5f1d", "canary-user", dir, exe} {
		if strings.Contains(string(b), secret) {
			t.Errorf("%q is in the output", secret)
		}
	}
}

func TestLameHosts(t *testing.T) {
	spaces := func() *syscall.SysProcAttr { return namespaces(unix.CLONE_NEWNS | unix.CLONE_NEWPID) }
	asRoot := namespaces(0)
	asRoot.UidMappings[0].ContainerID, asRoot.AmbientCaps = 0, nil
	for _, c := range []struct {
		lame   string
		attr   *syscall.SysProcAttr
		broken []string // the walls that do not stand, the first with its cure
		reason string
		fix    []string
	}{
		{"nothing", nil, nil, "", nil},
		{"container", nil, []string{"user", "kernel", "mount", "proc", "nested", "caps"}, "seccomp filter",
			[]string{"seccomp=unconfined", "systempaths=unconfined"}},
		{"no-userns", spaces(), []string{"user", "mount", "net", "caps"}, "user.max_user_namespaces is 0",
			[]string{"sudo sysctl -w user.max_user_namespaces=15000"}},
		{"masked", spaces(), []string{"proc", "nested"}, "parts of /proc are covered", []string{"systempaths=unconfined"}},
		{"no-landlock", nil, []string{"landlock"}, "switched off at boot", []string{"lsm="}},
		{"hidden", nil, []string{"landlock"}, "a seccomp filter hides the calls", []string{"seccomp=unconfined"}},
		{"no-keyring", nil, []string{"keyring"}, "seccomp filter", []string{"seccomp=unconfined"}},
		{"no-setfcap", asRoot, []string{"user"}, "CAP_SETFCAP cannot map itself into a user namespace (map the user:", []string{"--cap-add SETFCAP"}},
	} {
		t.Run(c.lame, func(t *testing.T) {
			p := probeOn(t, c.lame, c.attr)
			for _, name := range c.broken {
				if r := p.result(t, name); r.Status != Unusable {
					t.Errorf("%+v", r)
				}
			}
			if len(c.broken) == 0 {
				if v := Verdict(p.Results); v == 2 {
					t.Errorf("control: %+v", p.Results)
				}
				return
			}
			first := p.result(t, c.broken[0])
			if !strings.Contains(first.Detail, c.reason) {
				t.Errorf("detail %q, want %q", first.Detail, c.reason)
			}
			for _, fix := range c.fix {
				if !strings.Contains(first.Fix, fix) {
					t.Errorf("fix %q, want %q", first.Fix, fix)
				}
			}
			if Verdict(p.Results) != 2 {
				t.Error("the verdict is not unusable")
			}
		})
	}
}

// What does not hang on the missing thing is still tried and stands.
func TestOneRefusalHidesNoOther(t *testing.T) {
	p := probeOn(t, "masked", namespaces(unix.CLONE_NEWNS|unix.CLONE_NEWPID))
	for _, name := range []string{"user", "mount", "mount-api", "pid", "net", "landlock", "seccomp"} {
		if r := p.result(t, name); r.Status != OK {
			t.Errorf("%+v", r)
		}
	}
	p = probeOn(t, "container", nil)
	for _, name := range []string{"no-new-privs", "landlock", "seccomp", "tty"} {
		if r := p.result(t, name); r.Status != OK {
			t.Errorf("%+v", r)
		}
	}
	if r := p.result(t, "net"); r.Fix != "" || !strings.Contains(r.Detail, "not tried") {
		t.Errorf("%+v: the cure belongs to the user namespace alone", r)
	}
	if !p.Facts.Filtered || p.Facts.Calls.OpenTree != Refused || p.Facts.Calls.Keyctl != Refused || p.Facts.Calls.MoveMount != Refused {
		t.Errorf("facts %+v", p.Facts)
	}
}

func TestProbeMainRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"nonsense", "x"}, {"user"}, {"user", "1", "2"}} {
		if ProbeMain(args) != 2 {
			t.Errorf("%q accepted", args)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		statuses []Status
		want     int
	}{
		{nil, 0}, {[]Status{OK, OK}, 0}, {[]Status{OK, Degraded}, 1}, {[]Status{Unusable, Degraded, OK}, 2}, {[]Status{""}, 2},
	} {
		var results []Result
		for _, s := range c.statuses {
			results = append(results, Result{Status: s})
		}
		if got := Verdict(results); got != c.want {
			t.Errorf("%v: %d, want %d", c.statuses, got, c.want)
		}
	}
}

func BenchmarkQuick(b *testing.B) {
	for b.Loop() {
		Quick()
	}
}
