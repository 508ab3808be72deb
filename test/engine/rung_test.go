package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/daemon"
	"ringfence.dev/ringfence/test/work"
)

const policy = "[rung]\nengine = \"" + socket + "\"\n"

// newFixture wants nothing of a session to be left when the test ends.
func newFixture(t *testing.T) *work.Fixture {
	t.Helper()
	f := work.New(t, "container", policy)
	t.Cleanup(func() {
		f.Eventually("the end of every container", func() bool { return len(containers(t)) == 0 })
		left, err := filepath.Glob(filepath.Join(os.TempDir(), "ringfence-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %q", err, left)
		}
	})
	return f
}

func TestWork(t *testing.T) { work.Work(t, newFixture) }

func TestAttacked(t *testing.T) { work.Attacked(t, newFixture) }

func TestDays(t *testing.T) { work.Days(t, newFixture) }

// TestVerify: what docs/rungs.md says, with the control outside.
func TestVerify(t *testing.T) {
	f := newFixture(t)
	out, err := f.Cmd("verify", "--rung", "container", "--json").Output()
	var report verify.Report
	if err != nil || json.Unmarshal(out, &report) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	work.Pages(t)["container"].Compare(t, report)
}

// inspection is what the engine says of a container.
type inspection struct {
	State struct {
		Pid int
	}
	Config     struct{ User string }
	HostConfig struct {
		NetworkMode, IpcMode, PidMode string
		ReadonlyRootfs, Privileged    bool
		CapDrop, CapAdd               []string
		Memory, PidsLimit             int64
	}
	Mounts []struct {
		Source, Destination string
		RW                  bool
	}
}

// begin starts a session, and returns its container as the engine has it.
func begin(t *testing.T, f *work.Fixture, script string, flags ...string) (id string, c inspection) {
	t.Helper()
	id = f.Start(script, flags...)
	all := []inspection{}
	if err := json.Unmarshal([]byte(docker(t, "inspect", "ringfence-"+id)), &all); err != nil || len(all) != 1 {
		t.Fatal(err, all)
	}
	return id, all[0]
}

// TestVessel: what the engine was asked for, and who is in the container with which right.
func TestVessel(t *testing.T) {
	f := newFixture(t)
	f.Put("sub/file", nil, 0o600)
	_, c := begin(t, f, "sleep 1000", "--net", "none", "--memory", "200MiB", "--pids", "100")
	h := c.HostConfig
	// Podman has words of its own for these; what they mean is looked at below.
	own := daemon.Podman() || h.IpcMode == "none" && h.PidMode == "" && slices.Equal(h.CapDrop, []string{"ALL"})
	if h.NetworkMode != "none" || !own || !h.ReadonlyRootfs || h.Privileged ||
		c.Config.User != fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) || h.Memory != 200<<20 || h.PidsLimit != 100 {
		t.Errorf("%+v", c)
	}
	for _, m := range c.Mounts {
		for _, secret := range []string{"/", "/run", "/var/run", "/proc", "/sys", "/dev", os.Getenv("HOME"), f.State, socket} {
			if m.Source == secret {
				t.Errorf("%s is shared with the container", secret)
			}
		}
		if m.RW && !strings.HasPrefix(m.Source, f.State+"/") {
			t.Errorf("%s can be written in the container", m.Source)
		}
	}
	var all []work.Process
	f.Eventually("the agent in the container", func() bool {
		all = work.Below(t, c.State.Pid)
		return slices.ContainsFunc(all, func(p work.Process) bool { return p.Argv == "sleep" })
	})
	i := slices.IndexFunc(all, func(p work.Process) bool { return p.Argv == "ringfence-inside" })
	if i < 0 {
		t.Fatalf("the first process is not in the container: %+v", all)
	}
	for _, p := range append(all, work.Processes(t)...) {
		if p.PID != c.State.Pid && p.Parent != c.State.Pid && !slices.ContainsFunc(all, func(q work.Process) bool { return q.PID == p.PID }) {
			continue
		}
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
			if have := p.Caps(t, set); have != 0 {
				t.Errorf("%s: %s is %x", p.Argv, set, have)
			}
		}
		if p.Status["NoNewPrivs"] != "1" {
			t.Errorf("%s: NoNewPrivs %s", p.Argv, p.Status["NoNewPrivs"])
		}
	}
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		outer, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", c.State.Pid, kind))
		inner, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", all[i].PID, kind))
		if err != nil || err2 != nil || outer == inner {
			t.Errorf("the sandbox has the container's namespace %s: %s, %v, %v", kind, outer, err, err2)
		}
	}
}

// TestLimits: the engine enforces them, and what they did is told.
func TestLimits(t *testing.T) { limited(t, newFixture(t)) }

func TestConfinedLimits(t *testing.T) { limited(t, newConfined(t)) }

func limited(t *testing.T, f *work.Fixture) {
	r := f.On(`python3 -c 'x = b"x" * (400 << 20); print(len(x))'`, "--net", "none", "--memory", "100MiB")
	if r.Status != 137 || r.Stdout != "" || !strings.Contains(r.Stderr, "killed at the memory limit of 100 MiB: 1 process;") {
		t.Errorf("memory: status %d, %q\n%s", r.Status, r.Stdout, r.Stderr)
	}
	r = f.On(`python3 -c 'x = b"x" * (40 << 20); print(len(x))'`, "--net", "none", "--memory", "400MiB")
	if r.Status != 0 || strings.Contains(r.Stderr, "limit") {
		t.Errorf("within memory: status %d\n%s", r.Status, r.Stderr)
	}
	r = f.On(`for i in $(seq 60); do sleep 5 & done; echo all`, "--net", "none", "--pids", "40")
	if strings.Contains(r.Stdout, "all") {
		t.Errorf("processes: status %d, %q\n%s", r.Status, r.Stdout, r.Stderr)
	}
	out, err := f.Cmd("log", "--json").Output()
	if err != nil || !strings.Contains(string(out), `"event":"limit","name":"processes"`) {
		t.Errorf("the record does not say what was at its limit: %v\n%s", err, out)
	}
}

// TestContainerKilled: the session ends, nothing runs, and what waits is still there.
func TestContainerKilled(t *testing.T) {
	f := newFixture(t)
	id, c := begin(t, f, "echo new > made; echo ok; exec sleep 1000", "--review")
	f.Said(id, "ok")
	all := work.Below(t, c.State.Pid)
	docker(t, "kill", "ringfence-"+id)
	over(f, id, all)
}

// TestPaused: a container that somebody paused is ended like any other.
func TestPaused(t *testing.T) {
	f := newFixture(t)
	id, c := begin(t, f, "echo new > made; echo ok; exec sleep 1000", "--review")
	f.Said(id, "ok")
	all := work.Below(t, c.State.Pid)
	docker(t, "pause", "ringfence-"+id)
	if out, err := f.Cmd("stop", "--time", "0s", id).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	over(f, id, all)
}

// over wants a session to have ended with all its processes, and its changes to wait.
func over(f *work.Fixture, id string, all []work.Process) {
	f.T.Helper()
	f.Eventually("the end of every process", func() bool {
		return !slices.ContainsFunc(all, work.Process.Lives)
	})
	f.Eventually("the end of the session", func() bool {
		return !slices.ContainsFunc(f.PS(), func(s work.Session) bool { return s.Session == id })
	})
	out, err := f.Cmd("diff", id).CombinedOutput()
	if !strings.Contains(string(out), "made") {
		f.T.Errorf("what waits is lost: %v\n%s", err, out)
	}
}

// TestToldWhy: the person at the terminal hears that it was not the agent.
func TestToldWhy(t *testing.T) {
	f := newFixture(t)
	p := f.Sit("run", "--rung", "container", "--net", "none", "--", "sh", "-c", "echo ready; exec sleep 1000")
	p.Sees("ready")
	docker(t, "kill", containers(t)[0])
	p.Sees("ended from outside")
	if s := p.Status(); s == 0 {
		t.Error("status 0")
	}
}

// TestKilledEarly: whoever kills the supervisor while the container comes into being
// leaves no container.
func TestKilledEarly(t *testing.T) {
	f := newFixture(t)
	for range 5 {
		cmd := f.Cmd("run", "--rung", "container", "--net", "none", "--", "sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		f.Eventually("a container", func() bool { return len(containers(t)) > 0 })
		cmd.Process.Kill()
		cmd.Wait()
		f.Eventually("its end", func() bool { return len(containers(t)) == 0 })
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "ringfence-*"))
	for _, dir := range left { // a kill -9 leaves an empty directory, as everywhere
		os.RemoveAll(dir)
	}
}

// TestRefused: without an engine that will do nothing starts, and the native rung is never
// taken instead.
func TestRefused(t *testing.T) {
	f := newFixture(t)
	for text, want := range map[string]string{
		"[rung]\nengine = \"/nowhere\"\n":        "no such file",
		"[rung]\nengine = \"/etc/passwd\"\n":     "not a socket",
		"[rung]\nengine = \"" + own + "/pid\"\n": "socket",
	} {
		f.Policy(text)
		if r := f.On("echo ran", "--net", "none"); r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: status %d\n%s%s", text, r.Status, r.Stdout, r.Stderr)
		}
	}
	f.Policy("")
	cmd := f.Cmd("run", "--rung", "container", "--net", "none", "--", "echo", "ran")
	cmd.Env = append(cmd.Env, "DOCKER_HOST=tcp://192.0.2.9:2375")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 125 || !strings.Contains(string(out), "on this machine") {
		t.Errorf("an engine elsewhere: %s", out)
	}
}

// TestEngineKilled: when the engine is gone, so is the session. It is the last test: no engine
// comes after it.
func TestEngineKilled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("who is not root cannot end an engine")
	}
	f := work.New(t, "container", policy)
	ids, all := []string{}, []work.Process{}
	variants := []string{"", confined}
	if daemon.Podman() { // which is refused for a confined one
		variants = variants[:1]
	}
	for _, more := range variants {
		f.Policy(policy + more)
		id, c := begin(t, f, "echo new > made; echo ok; exec sleep 1000", "--review")
		f.Said(id, "ok")
		ids, all = append(ids, id), append(all, work.Below(t, c.State.Pid)...)
	}
	b, err := os.ReadFile(own + "/pid")
	pid, err2 := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		over(f, id, all)
	}
}

func uid() string { return strconv.Itoa(os.Getuid()) }
