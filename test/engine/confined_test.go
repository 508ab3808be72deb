package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/work"
	"ringfence.dev/ringfence/test/world"
)

// confined is the line of the user's policy that keeps the engine's own profile.
const confined = "container = \"confined\"\n"

func newConfined(t *testing.T) *work.Fixture {
	t.Helper()
	f := newFixture(t)
	f.Policy(policy + confined)
	return f
}

func TestConfinedWork(t *testing.T) { work.Work(t, newConfined) }

func TestConfinedAttacked(t *testing.T) { work.Attacked(t, newConfined) }

func TestConfinedDays(t *testing.T) { work.Days(t, newConfined) }

// TestConfinedVerify: what docs/rungs.md says of the variant, with the control outside.
func TestConfinedVerify(t *testing.T) {
	f := newConfined(t)
	out, err := f.Cmd("verify", "--rung", "container", "--json").Output()
	var report verify.Report
	if err == nil || json.Unmarshal(out, &report) != nil { // what is missing is no success
		t.Fatalf("%v\n%s", err, out)
	}
	work.Pages(t)["container, confined"].Compare(t, report)
}

// wish is what of an order for a container is looked at.
type wish struct {
	User       string
	HostConfig struct {
		Privileged                 bool
		NetworkMode                string
		CapAdd, SecurityOpt        []string
		MaskedPaths, ReadonlyPaths *[]string
		Mounts                     []struct{ Source, Target string }
	}
}

func parseWish(t *testing.T, body []byte) (w wish) {
	t.Helper()
	if err := json.Unmarshal(body, &w); err != nil {
		t.Error(err)
	}
	return w
}

// houseRules is an organisation that forbids what `docker run --security-opt
// seccomp=unconfined --security-opt systempaths=unconfined` asks for.
func houseRules(t *testing.T, order []byte) string {
	w := parseWish(t, order)
	h := w.HostConfig
	empty := func(list *[]string) bool { return list != nil && len(*list) == 0 }
	switch {
	case h.Privileged, slices.ContainsFunc(h.SecurityOpt, func(o string) bool { return strings.HasSuffix(o, "unconfined") }):
		return "no unconfined containers here"
	case empty(h.MaskedPaths), empty(h.ReadonlyPaths):
		return "the covers of /proc stay"
	}
	return ""
}

// TestForbidden: where the engine forbids the unconfined options, the usual container is
// refused with the key that helps and nothing else is tried. The confined one works.
func TestForbidden(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		more   string
		status int
		stdout string
		stderr []string
	}{
		{"", 125, "", []string{"no unconfined containers here", `container = "confined"`}},
		{"container = \"usual\"\n", 125, "", []string{`container = "confined"`}},
		{confined, 0, "ran\n", nil},
	} {
		orders := 0
		judged(t, f, c.more, func(_, path string, body []byte) ([]byte, string) {
			if !strings.HasSuffix(path, "/containers/create") {
				return body, ""
			}
			orders++
			return body, houseRules(t, body)
		})
		r := f.On("echo ran", "--net", "none")
		if r.Status != c.status || r.Stdout != c.stdout || orders != 1 {
			t.Errorf("%q: status %d, %d orders\n%s%s", c.more, r.Status, orders, r.Stdout, r.Stderr)
		}
		for _, s := range c.stderr {
			if !strings.Contains(r.Stderr, s) {
				t.Errorf("%q: it does not say %q:\n%s", c.more, s, r.Stderr)
			}
		}
		os.Remove(filepath.Join(f.State, "between"))
	}
}

// TestConfinedSaid: people and the record hear of it.
func TestConfinedSaid(t *testing.T) {
	f := newConfined(t)
	id := f.Start("sleep 1000", "--net", "none")
	for name, args := range map[string][]string{
		"card": {"run", "--rung", "container", "--dry-run", "--", "true"}, "status": {"status", id}, "ps": {"ps", "--json"}, "rungs": {"rungs"},
		"doctor": {"doctor"}, "journal": {"log", "--json", id},
	} {
		if out, err := f.Cmd(args...).CombinedOutput(); !strings.Contains(string(out), "confined") {
			t.Errorf("%s does not say so: %v\n%s", name, err, out)
		}
	}
}

// TestConfinedProject: a project's file has no say.
func TestConfinedProject(t *testing.T) {
	f := newFixture(t)
	f.Put(".ringfence.toml", []byte("[rung]\ncontainer = \"confined\"\n"), 0o600)
	out, _ := f.Cmd("run", "--rung", "container", "--dry-run", "--", "true").CombinedOutput()
	if strings.Contains(string(out), "container, confined") {
		t.Errorf("a project chose it:\n%s", out)
	}
}

// TestHolder: the right to change a network is in no container but the holder's, which sees
// nothing and is gone before the agent runs.
func TestHolder(t *testing.T) {
	f := newFixture(t)
	var mu sync.Mutex
	var wishes []wish
	judged(t, f, confined, func(_, path string, body []byte) ([]byte, string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasSuffix(path, "/containers/create") {
			wishes = append(wishes, parseWish(t, body))
		}
		return body, ""
	})
	id := f.Start("echo ok; exec sleep 1000", "--allow-host", world.Allowed)
	f.Said(id, "ok")
	mu.Lock()
	defer mu.Unlock()
	if len(wishes) != 2 {
		t.Fatalf("%d orders", len(wishes))
	}
	holder, agent := wishes[0], wishes[1]
	if h := holder.HostConfig; holder.User != "0:0" || h.NetworkMode != "none" || !slices.Equal(h.CapAdd, []string{"NET_ADMIN", "NET_BIND_SERVICE"}) || len(h.Mounts) != 2 {
		t.Errorf("the holder: %+v", holder)
	}
	for _, m := range holder.HostConfig.Mounts {
		if m.Target != "/ringfence-container" && m.Target != "/ringfence-link" {
			t.Errorf("the holder sees %s", m.Source)
		}
	}
	h := agent.HostConfig
	if agent.User != fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) || len(h.CapAdd) > 0 || h.NetworkMode != "container:ringfence-"+id+"-net" ||
		slices.ContainsFunc(h.SecurityOpt, func(o string) bool { return strings.Contains(o, "seccomp") }) {
		t.Errorf("the agent: %+v", agent)
	}
	if all := containers(t); len(all) != 1 {
		t.Errorf("%d containers beside the agent", len(all)-1)
	}
	for _, p := range work.Processes(t) {
		if p.Argv == "/ringfence-container" {
			t.Errorf("a process of the holder is there: %+v", p)
		}
	}
}

// TestHolderKilled: without its holder no agent starts, and nothing is left.
func TestHolderKilled(t *testing.T) {
	f := newFixture(t)
	orders := 0
	judged(t, f, confined, func(_, path string, body []byte) ([]byte, string) {
		if strings.HasSuffix(path, "/containers/create") {
			if orders++; orders == 2 {
				docker(t, "kill", containers(t)[0])
			}
		}
		return body, ""
	})
	if r := f.On("echo ran", "--allow-host", world.Allowed); r.Status != 125 || r.Stdout != "" || orders != 2 {
		t.Errorf("status %d, %d orders\n%s%s", r.Status, orders, r.Stdout, r.Stderr)
	}
}

// TestConfinedVessel: who is in the container with which right, and in whose namespaces.
func TestConfinedVessel(t *testing.T) {
	f := newConfined(t)
	id, c := begin(t, f, "echo ok; exec sleep 1000", "--allow-host", world.Allowed, "--memory", "200MiB", "--pids", "100")
	f.Said(id, "ok")
	h := c.HostConfig
	if h.IpcMode != "none" || h.PidMode != "" || !h.ReadonlyRootfs || h.Privileged || !slices.Equal(h.CapDrop, []string{"ALL"}) || len(h.CapAdd) > 0 || h.Memory != 200<<20 || h.PidsLimit != 100 {
		t.Errorf("%+v", c)
	}
	for _, m := range c.Mounts {
		for _, secret := range []string{"/", "/run", "/var/run", "/proc", "/sys", "/dev", os.Getenv("HOME"), f.Dir, f.State, socket} {
			if m.Source == secret {
				t.Errorf("%s is shared with the container", secret)
			}
		}
		if m.RW && !strings.HasPrefix(m.Source, f.State+"/") && m.Source != "" {
			t.Errorf("%s can be written in the container", m.Source)
		}
	}
	all := work.Below(t, c.State.Pid)
	for _, p := range work.Processes(t) {
		if p.PID == c.State.Pid {
			all = append(all, p)
		}
	}
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	for _, p := range all {
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if have := p.Caps(t, set); have != 0 {
				t.Errorf("%s: %s is %x", p.Argv, set, have)
			}
		}
		if p.Status["NoNewPrivs"] != "1" || p.Status["Seccomp"] != "2" {
			t.Errorf("%s: %v", p.Argv, p.Status)
		}
	}
}

// TestConfinedEnds: whoever ends something, nothing is left and what waits is still there.
func TestConfinedEnds(t *testing.T) {
	f := newConfined(t)
	for what, end := range map[string]func(id string){
		"killed": func(id string) { docker(t, "kill", "ringfence-"+id) },
		"paused": func(id string) {
			docker(t, "pause", "ringfence-"+id)
			if out, err := f.Cmd("stop", "--time", "0s", id).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		},
		"supervisor": func(id string) {
			p, err := os.FindProcess(f.Supervisor(id))
			if err == nil {
				err = p.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		id, c := begin(t, f, "echo new > made; echo ok; exec sleep 1000", "--review", "--allow-host", world.Allowed)
		f.Said(id, "ok")
		all := work.Below(t, c.State.Pid)
		end(id)
		over(f, id, all)
		f.Eventually("the end of the container, "+what, func() bool { return len(containers(t)) == 0 })
		f.Cmd("discard", "--yes", id).Run()
	}
}

// TestConfinedKilledEarly: whoever kills the supervisor while a holder or a container comes
// into being leaves neither.
func TestConfinedKilledEarly(t *testing.T) {
	f := newConfined(t)
	for n := range 6 {
		cmd := f.Cmd("run", "--rung", "container", "--allow-host", world.Allowed, "--", "sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		f.Eventually("containers", func() bool { return len(containers(t)) > n%2 })
		cmd.Process.Kill()
		cmd.Wait()
		f.Eventually("their end", func() bool { return len(containers(t)) == 0 })
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "ringfence-*"))
	for _, dir := range left { // a kill -9 leaves an empty directory, as everywhere
		os.RemoveAll(dir)
	}
}

// TestConfinedRefused: what cannot be had so is refused with its reason, never done otherwise.
func TestConfinedRefused(t *testing.T) {
	f := newConfined(t)
	const name = "team/tools:2"
	makeImage(t, name)
	for want, args := range map[string][]string{
		"an image cannot be shown in part": {"run", "--image", name, "--net", "none", "--", "only-here"},
		"no live view and no learning":     {"learn", "--rung", "container", "--net", "none", "--", "echo", "ran"},
		"the view live is not to be had":   {"run", "--rung", "container", "--net", "none", "--live", "--", "echo", "ran"},
	} {
		out, err := f.Cmd(args...).CombinedOutput()
		if err == nil || strings.Contains(string(out), "ran\n") || strings.Contains(string(out), "from the image") || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", want, err, out)
		}
	}
	// A policy that says live gets the stricter view.
	if r := f.On("echo new > made", "--net", "none"); r.Status != 0 || !strings.Contains(r.Stderr, "for review") {
		t.Errorf("status %d\n%s", r.Status, r.Stderr)
	}
	if _, err := os.Stat(filepath.Join(f.Dir, "made")); err == nil {
		t.Error("a file reached the host before it was applied")
	}
}

// TestConfinedProjectImage: where no image can be shown, one that a project names is ignored, and
// that is said.
func TestConfinedProjectImage(t *testing.T) {
	f := newConfined(t)
	f.Put("Dockerfile", []byte("FROM team/tools:1\n"), 0o644)
	has(t, f, false, "Dockerfile names the image team/tools:1, which is ignored: the rung container, confined has no images")
}

// TestConfinedLater: what comes while a session runs. The workspace is a copy, so that a secret
// which the host gets later is not seen; and what is written elsewhere is listed at the end.
func TestConfinedLater(t *testing.T) {
	f := newConfined(t)
	p := f.Sit("run", "--rung", "container", "--net", "none", "--", "sh", "-c", `echo x > ~/left-behind; echo ready; read x; cat .env; echo "en""ded"`)
	p.Sees("ready")
	f.Put(".env", []byte("API_KEY=sk-0123456789abcdefghijklmnop\n"), 0o600)
	p.Sees("left-behind")
	p.Types("\n")
	p.Sees("ended")
	if s := p.Status(); s != 0 || p.Saw("0123456789abcdef") {
		t.Errorf("status %d", s)
	}
}
