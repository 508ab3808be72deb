//go:build amd64

package microvm

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/work"
	"ringfence.dev/ringfence/test/world"
)

// waits is an agent that runs until somebody who is root in the guest sends it a signal.
const waits = `trap 'exit 5' USR1; echo kept > kept; while :; do sleep 1; done # agent-waits`

// attack lets the attacker be root in the guest, and returns how the session ended.
func attack(t *testing.T, f *work.Fixture, mode, script string, further string) world.Result {
	t.Helper()
	program, err := os.ReadFile(world.Program("attacker"))
	if err != nil {
		t.Fatal(err)
	}
	f.Put("attacker", program, 0o755)
	f.Put("mode", []byte(mode), 0o644)
	f.Put("canaries", []byte(further), 0o644)
	f.Put("file", []byte("the host's\n"), 0o666)
	cmd := f.Cmd("run", "--rung", "microvm", "--net", "none", "--review", "--", "sh", "-c", script)
	cmd.Env = append(cmd.Env, "RINGFENCE_MUTATE=guest-root")
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.Run()
	if b, err := os.ReadFile(filepath.Join(f.Dir, "file")); err != nil || string(b) != "the host's\n" {
		t.Errorf("%s: a file of the host is %q, %v", mode, b, err)
	}
	if left := disks(t, f); len(left) > 0 {
		t.Errorf("%s: %q is left", mode, left)
	}
	return world.Result{Status: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: said.String()}
}

// report is what the attacker tells, which came back as any change of a session.
func report(t *testing.T, f *work.Fixture, r world.Result) map[string]string {
	t.Helper()
	if r.Status != 5 {
		t.Fatalf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	if out, err := f.Cmd("apply", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(f.Dir, "attacks"))
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Stderr)
	}
	told := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, what, _ := strings.Cut(strings.TrimSpace(line), ": ")
		told[name] = what
	}
	t.Logf("%s", b)
	return told
}

// TestGuestRootFiles: whoever is root in the guest mounts shares anew, writes, links, removes
// and looks for other disks, and changes nothing of the host's.
func TestGuestRootFiles(t *testing.T) {
	f := newFixture(t)
	f.Put("plain", []byte("TOKEN=hunter2hunter2hunter2\n"), 0o644) // the control: nobody hides it
	f.Put("d/.env", []byte("TOKEN=hunter2hunter2hunter2\n"), 0o600)
	f.Put("hidden", []byte("TOKEN=hunter2hunter2hunter2\n"), 0o600)
	f.Policy(policy() + "[files]\nmask = [\"hidden\"]\n")
	told := report(t, f, attack(t, f, "files", waits, ""))
	journalled(t, f)
	names := []string{"write", "create", "remove", "chmod", "link", "rename"}
	if told["mounted again"] != "device or resource busy" { // a share is mounted once, by the emulator's word
		names = append(names, "write again", "create again")
	}
	for _, name := range names {
		if !slices.Contains([]string{"read-only file system", "operation not permitted"}, told[name]) {
			t.Errorf("%s: %q", name, told[name])
		}
	}
	for name, want := range map[string]string{"secrets": "plain", "remounted": "done", "disks": "vda", "interfaces": "lo", "network devices": "", "above": "no such file or directory"} {
		if told[name] != want {
			t.Errorf("%s: %q, want %q", name, told[name], want)
		}
	}
}

// TestGuestRootNetwork: with the rules gone there is still nobody to be reached.
func TestGuestRootNetwork(t *testing.T) {
	long(t)
	share(t, 0)
	f := newFixture(t)
	var came atomic.Int32
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	var canaries string
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip := a.(*net.IPNet).IP; !ip.IsLinkLocalUnicast() {
			canaries += net.JoinHostPort(ip.String(), port) + "\n"
		}
	}
	c, err := net.Dial("tcp", strings.Fields(canaries)[0])
	if err != nil {
		t.Fatalf("control: %v", err)
	}
	c.Close()
	f.Eventually("the control to arrive", func() bool { return came.Load() == 1 })
	told := report(t, f, attack(t, f, "network", waits, canaries))
	if told["flushed"] != "done" || told["reached"] != "0" || came.Load() != 1 {
		t.Errorf("%q; %d connections arrived", told, came.Load())
	}
}

// TestGuestRootFills: the disk has an end; the host gives no more.
func TestGuestRootFills(t *testing.T) {
	long(t)
	share(t, 1)
	f := newFixture(t)
	told := report(t, f, attack(t, f, "fill", waits, ""))
	var written int
	if n, err := fmt.Sscanf(told["written"], "%d MiB", &written); n != 1 || err != nil || written == 0 || written > 256 {
		t.Errorf("%q", told)
	}
}

// TestGuestRootMemory: memory has an end, too. The guest's kernel ends who takes it, or itself:
// then so does the session.
func TestGuestRootMemory(t *testing.T) {
	long(t)
	share(t, 0)
	f := newFixture(t)
	r := attack(t, f, "memory", waits, "")
	if r.Status != 5 && strings.Contains(r.Stderr, "the far end is gone") {
		return
	}
	if told := report(t, f, r); told["memory"] != "ended" {
		t.Errorf("%q", told)
	}
}

// TestGuestRootLink: forged frames end the session, and so does silence. What came before
// waits for review.
func TestGuestRootLink(t *testing.T) {
	long(t)
	for i, mode := range []string{"forge", "silent"} {
		if !stage.Mine(i) {
			continue
		}
		f := newFixture(t)
		r := attack(t, f, mode, waits, "")
		if r.Status == 0 || r.Status == 5 || !strings.Contains(r.Stderr, "the far end is gone") {
			t.Errorf("%s: status %d\n%s", mode, r.Status, r.Stderr)
		}
	}
}
