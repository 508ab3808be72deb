//go:build amd64

package microvm

import (
	"fmt"
	"net"
	"os"
	"os/exec"
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

// rooted prepares a session in which the attacker is root of the guest.
func rooted(t *testing.T, f *work.Fixture, mode, canaries string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.ReadFile(world.Program("attacker"))
	if err != nil {
		t.Fatal(err)
	}
	f.Put("attacker", program, 0o755)
	f.Put("mode", []byte(mode), 0o644)
	f.Put("canaries", []byte(canaries), 0o644)
	f.Put("file", []byte("the host's\n"), 0o666)
	cmd := f.Cmd(append(append([]string{"run"}, args...), "--rung", "microvm", "--net", "none", "--review", "--", "sh", "-c", waits)...)
	cmd.Env = append(cmd.Env, "RINGFENCE_MUTATE=guest-root")
	return cmd
}

// attack plays that session to its end.
func attack(t *testing.T, f *work.Fixture, mode, canaries string) world.Result {
	t.Helper()
	cmd := rooted(t, f, mode, canaries)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.Run()
	unharmed(t, f, mode)
	return world.Result{Status: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: said.String()}
}

// unharmed: the host's file is as it was, and nothing of the machine is left.
func unharmed(t *testing.T, f *work.Fixture, mode string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(f.Dir, "file")); err != nil || string(b) != "the host's\n" {
		t.Errorf("%s: a file of the host is %q, %v", mode, b, err)
	}
	if left := disks(t, f); len(left) > 0 {
		t.Errorf("%s: %q is left", mode, left)
	}
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

// TestGuestRoot: whoever is root in the guest mounts shares anew, writes, links and removes, reads
// devices, takes the rules of the network away and fills the disk, and changes nothing of the host's,
// sees nothing that is hidden and reaches nobody.
func TestGuestRoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Put("plain", []byte("TOKEN=hunter2hunter2hunter2\n"), 0o644) // the control: nobody hides it
	f.Put("d/.env", []byte("TOKEN=hunter2hunter2hunter2\n"), 0o600)
	f.Put("hidden", []byte("TOKEN=hunter2hunter2hunter2\nOTHER=unseen1unseen1unseen1\n"), 0o600)
	f.Policy(policy() + "[files]\nmask = [\"hidden\"]\n")
	came, canaries := listen(t, f)
	told := report(t, f, attack(t, f, "careful", canaries))
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
	for name, want := range map[string]string{"secrets": "plain", "remounted": "done", "disks": "vda", "interfaces": "lo", "network devices": "", "above": "no such file or directory",
		"memory device": "nothing", "firmware": "nothing", "behind the disk": "no space left on device", "10 GiB on": "no space left on device", "flushed": "done", "reached": "0"} {
		if told[name] != want {
			t.Errorf("%s: %q, want %q", name, told[name], want)
		}
	}
	var written int // of the 10 GiB that it wants to
	if n, err := fmt.Sscanf(told["written"], "%d MiB", &written); n != 1 || err != nil || written == 0 || written > 256 {
		t.Errorf("written: %q", told["written"])
	}
	if came.Load() != 1 {
		t.Errorf("%d connections arrived", came.Load())
	}
}

// listen counts who connects to this host, and tells all its addresses. The first to come is the
// control.
func listen(t *testing.T, f *work.Fixture) (*atomic.Int32, string) {
	t.Helper()
	came := new(atomic.Int32)
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
	return came, canaries
}

// TestGuestRootRough: memory that the guest frees goes back to the host. Then it takes all that
// there is, writes to every register, and stumbles: the emulator never has more than the machine, and
// the session ends.
func TestGuestRootRough(t *testing.T) {
	t.Parallel()
	share(t, 1)
	f := newFixture(t)
	out, err := rooted(t, f, "rough", "", "-d").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := strings.TrimSpace(string(out))
	t.Cleanup(func() { f.Cmd("stop", "--time", "0s", id).Run() })
	waits := func(name string) { // what root of the guest lays into the layer nobody inside has to see
		t.Helper()
		f.Eventually(name, func() bool {
			out, _ := f.Cmd("diff", id).CombinedOutput()
			return strings.Contains(string(out), "waits "+name)
		})
	}
	says := func(name string) {
		t.Helper()
		if out, err := f.Cmd("exec", id, "--", "touch", name).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	waits("taken")
	emulator := emulatorOf(t, f.Supervisor(id))
	before := emulator.resident(t)
	says("give")
	waits("given")
	var after int64
	f.Eventually("memory to come back", func() bool { after = emulator.resident(t); return after < before-200<<20 })
	t.Logf("the emulator has %d MiB, and %d MiB once the guest has freed 300", before>>20, after>>20)
	says("on")
	var most int64
	f.Eventually("the end of the session", func() bool {
		if now := emulator.peak(); now > most {
			most = now
		}
		return len(f.PS()) == 0
	})
	t.Logf("at most it had %d MiB", most>>20)
	if most == 0 || most > (768+384)<<20 {
		t.Errorf("the emulator had %d MiB", most>>20)
	}
	unharmed(t, f, "rough")
}

// TestGuestRootLink: forged frames end the session, and so does silence. What came before
// waits for review.
func TestGuestRootLink(t *testing.T) {
	t.Parallel()
	for i, mode := range []string{"forge", "silent"} {
		if !stage.Mine(i) {
			continue
		}
		f := newFixture(t)
		r := attack(t, f, mode, "")
		if r.Status == 0 || r.Status == 5 || !strings.Contains(r.Stderr, "the far end is gone") {
			t.Errorf("%s: status %d\n%s", mode, r.Status, r.Stderr)
		}
	}
}

// emulator is the process that is a machine.
type emulator int

func emulatorOf(t *testing.T, supervisor int) emulator {
	t.Helper()
	for _, p := range work.Below(t, supervisor) {
		if strings.HasSuffix(p.Argv, "qemu-system-x86_64") {
			return emulator(p.PID)
		}
	}
	t.Fatal("there is no emulator")
	return 0
}

// resident is how much of the host's memory it has.
func (e emulator) resident(t *testing.T) int64 {
	t.Helper()
	n, err := e.status("VmRSS")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// peak is how much it had at most, 0 where it has ended.
func (e emulator) peak() int64 {
	n, _ := e.status("VmHWM")
	return n
}

func (e emulator) status(key string) (n int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", int(e)))
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			_, err = fmt.Sscanf(value, "%d kB", &n)
		}
	}
	return n << 10, err
}
