package mutate

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/tier"
)

// atFarEnd are the walls that a far end leaves out, which was told to raise them and whose word is
// believed: that in a machine of ours. Those that do not stand on each other go together.
var atFarEnd = slices.Concat([]mutation{
	{name: "ipc,uts,cgroup,keyring", same: true, missing: []string{"ipc", "uts", "cgroup", "keyring"}},
	// The near end waits for a network, and nothing comes over the link.
	{name: "net,landlock", same: true, missing: slices.Concat(network, []string{"net", "loopback", "work", "abstract", "landlock", "link", "link-end"})},
	{name: "no-new-privs", same: true, missing: slices.Concat(filtered, []string{"no-new-privs", "landlock"})},
}, playedIn("user", "mount", "pid", "nested", "caps,seccomp", "tty"))

// aroundMachine is what stands around an emulator, and what the launch says where it does not.
// The walls in the guest are native's, raised by a far end: atFarEnd has those.
var aroundMachine = map[string]string{
	"jail-user":  "wall user", // which an ordinary user must have to make the others
	"jail-mount": "wall mount is missing", "jail-pid": "wall pid is missing", "jail-ipc": "wall ipc is missing", "jail-uts": "wall uts is missing",
	"jail-net": "wall net is missing", "jail-cgroup": "wall cgroup is missing", "jail-keyring": "wall keyring is missing", "jail-nested": "wall nested is missing",
	"jail-caps": "wall caps is missing", "jail-no-new-privs": "wall no-new-privs is missing", "jail-landlock": "wall landlock is missing", "jail-seccomp": "wall seccomp is missing",
	"jail-limits": "its limit", "jail-cover": "the host's own directory", "jail-hide": "shows what the session hides", "nic": "network card", "share": "is not read-only",
}

// ofMachine are the checks of a machine that no wall in it turns, and why. What the session plans and
// decides is the same code as native's, and left out there.
func ofMachine(t *testing.T) map[string]string {
	t.Helper()
	turns := func(all []mutation, name string) bool {
		return slices.ContainsFunc(all, func(m mutation) bool { return slices.Contains(m.missing, name) })
	}
	out := map[string]string{"kernel": "there is no machine without a kernel of its own"}
	for _, c := range verify.Checks() {
		switch {
		case turns(atFarEnd, c.Name):
		case aroundMachine[c.Name] != "":
			out[c.Name] = "it does not start: TestMachineMutations"
		case c.Wall == "" && turns(mutations, c.Name): // what stands on a wall must turn here
			out[c.Name] = "the session's, left out on native"
		}
	}
	return out
}

// TestFarEndMutations: a far end that is believed, and leaves a wall out, is found out by what it says
// itself: the launch is refused, and no check says held that stands on the wall. The far end is
// one on this machine; test/microvm does the same with one in a machine.
func TestFarEndMutations(t *testing.T) {
	bin := build(t, "ringfence_mutate,ringfence_loop,ringfence_ours")
	all := users(t, "")
	for n, u := range all {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			u.launches(t, bin)
			base, said := u.verify(t, bin, "native", "far-")
			if base.Count(verify.Held)+base.Count(verify.NotApplied) != len(base.Rows) {
				t.Fatalf("with every wall standing: %s\n%s", said, table(base))
			}
			for i, m := range atFarEnd {
				if len(all) == 2 && i%2 != n && !m.refused && !tier.All() {
					continue // the other user's
				}
				t.Run(m.name, func(t *testing.T) {
					m.name = "far-" + m.name
					m.test(t, u, bin, "native", base)
				})
			}
		})
	}
}

// launches starts a session without each of the walls, and with all of them.
func (u user) launches(t *testing.T, bin string) {
	t.Helper()
	for _, w := range append(plan.AllWalls(), "") {
		if w == plan.WallTTY { // there is no terminal: what is judged then is the filter
			continue
		}
		said, ran := u.run(t, bin, "far-"+string(w))
		why := "wall " + string(w) + " is missing"
		if w == plan.WallUser && u.uid != 0 { // who must have it to make the others
			why = "namespaces"
		}
		if ran != (w == "") || w != "" && !strings.Contains(said, why) {
			t.Errorf("without %q: it ran: %v\n%s", w, ran, said)
		}
	}
}

// run starts a session as the user, who has a session keyring, and says whether its agent ran.
func (u user) run(t *testing.T, bin, mutation string) (said string, ran bool) {
	t.Helper()
	cmd := exec.Command(bin, "run", "--rung", "native", "--review", "--net", "none", "--", "echo", "the agent", "ran")
	cmd.Dir = directory(t, u.home, u.uid)
	cmd.Env = []string{"HOME=" + u.home, "PATH=/usr/local/bin:/usr/bin:/bin", "XDG_STATE_HOME=" + directory(t, u.home, u.uid), "RINGFENCE_MUTATE=" + mutation}
	if u.runtime != "" {
		cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+u.runtime)
	}
	id := uint32(u.uid)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id, NoSetGroups: u.uid == syscall.Getuid()}}
	var out []byte
	var joined error
	done := make(chan struct{})
	go func() { // on a thread that goes with its keyring
		defer close(done)
		runtime.LockOSThread()
		if _, joined = unix.KeyctlJoinSessionKeyring("a person's"); joined == nil {
			out, _ = cmd.CombinedOutput()
		}
	}()
	if <-done; joined != nil {
		t.Fatal(joined)
	}
	return string(out), strings.Contains(string(out), "the agent ran\n")
}
