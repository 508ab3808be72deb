package mutate

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/tier"
	"ringfence.dev/ringfence/test/work"
)

// ground is a rung, or a variant of one, and what is taken away on it.
type ground struct {
	rung      string
	variant   string // "": the usual one
	mutations []mutation
	// Checks and walls that no mutation here turns: why.
	unturned map[string]string
}

var grounds = []ground{{"native", "", mutations, map[string]string{"kernel": notClaimed, "link": notClaimed, "link-end": notClaimed, "nic": notClaimed, "share": notClaimed}},
	{"container", "", inContainer, inContainerUnturned}, {"container", "confined", inConfined, inConfinedUnturned()}, {"gvisor", "", onSentry, onSentryUnturned}}

// title is what docs/rungs.md and verify call it.
func (g ground) title() string {
	if g.variant == "" {
		return g.rung
	}
	return g.rung + ", " + g.variant
}

const notClaimed = "the rung does not claim it"

func rungs() (out []string) {
	for _, g := range grounds {
		out = append(out, g.rung)
	}
	return out
}

// Each table leaves out every wall, and every check is among those that turn: one
// that no mutation reaches might as well be painted on.
func TestTableIsComplete(t *testing.T) {
	// A machine is not played as the others are: TestFarEndMutations and TestMachineMutations do it.
	machine := ground{"microvm", "", atFarEnd, ofMachine(t)}
	for _, g := range append(slices.Clone(grounds), machine) {
		var turned []string
		for _, m := range g.mutations {
			turned = append(turned, m.missing...)
			for _, name := range slices.Concat(m.missing, m.asRoot, m.public, m.may) {
				if !slices.ContainsFunc(verify.Checks(), func(c verify.Check) bool { return c.Name == name }) {
					t.Errorf("%s: %s: no check %q", g.title(), m.name, name)
				}
			}
		}
		for _, c := range verify.Checks() {
			if slices.Contains(turned, c.Name) == (g.unturned[c.Name] != "") {
				t.Errorf("%s: no mutation turns check %d %s, or one does that none should", g.title(), c.N, c.Name)
			}
		}
		for _, w := range plan.AllWalls() {
			named := func(m mutation) bool { return slices.Contains(strings.Split(m.name, ","), string(w)) }
			if slices.ContainsFunc(g.mutations, named) == (g.unturned["wall "+string(w)] != "") {
				t.Errorf("%s: no mutation leaves wall %s out, or one does that none should", g.title(), w)
			}
		}
	}
	for _, name := range policy.RungNames() {
		// What another machine says of its walls is never held, whatever it raises: see TestWordIsPartly.
		if !slices.Contains(rungs(), name) && name != machine.rung && name != "ssh" {
			t.Errorf("%s is not played here", name)
		}
	}
}

func TestMutations(t *testing.T) {
	bin, pages := build(t, "ringfence_mutate"), work.Pages(t)
	socket := raised(t)
	all := users(t, socket)
	for n, u := range all {
		for _, g := range grounds {
			t.Run(u.name+"/"+g.title(), func(t *testing.T) {
				if g.rung == "container" && socket == "" {
					t.Skip("only root can start a container engine")
				}
				u.chooses(t, g)
				base, said := u.verify(t, bin, g.rung, "")
				if pages[g.title()].Compare(t, base); t.Failed() {
					t.Fatalf("with every wall standing: %s\n%s", said, table(base))
				}
				for i, m := range g.mutations {
					if m.same && len(all) == 2 && (i+n)%2 != 0 && !tier.All() {
						continue // the other user's
					}
					t.Run(m.name, func(t *testing.T) { m.test(t, u, bin, g.rung, base) })
				}
			})
		}
	}
}

// test leaves the defence out. What must not turn is as it was in base.
func (m mutation) test(t *testing.T, u user, bin, rung string, base verify.Report) {
	before := hostState(t)
	r, said := u.verify(t, bin, rung, m.name)
	if after := hostState(t); after != before {
		t.Errorf("the host was %q and is %q", before, after)
	}
	if m.refuses || m.refused && u.uid != 0 {
		nothing := r.Count(verify.Missing)+r.Count(verify.NotApplied) == len(r.Rows) && strings.Contains(said, "ringfence: error: ")
		if !nothing && (m.refused || len(m.missing) == 0) {
			t.Errorf("not refused: %s\n%s", said, table(r))
		}
		if nothing || m.refused {
			return
		}
	}
	want := m.missing
	if u.uid == 0 {
		want = slices.Concat(want, m.asRoot)
	}
	if hasPublicAddress(t) {
		want = slices.Concat(want, m.public)
	}
	for i, row := range r.Rows {
		must, may := slices.Contains(want, row.Name), slices.Contains(m.may, row.Name)
		switch {
		case must && row.Result != verify.Missing:
			t.Errorf("%d %s is %s: %s (witness %s)", row.N, row.Name, row.Result, row.Detail, row.Witness)
		case !must && !may && row.Result != base.Rows[i].Result:
			t.Errorf("%d %s is %s too: %s", row.N, row.Name, row.Result, row.Detail)
		}
	}
}

// The build that people get has no such switch.
func TestNoSwitchInTheRealBuild(t *testing.T) {
	bin, pages := build(t, ""), work.Pages(t)
	all := users(t, "")
	for n, u := range all {
		names := []string{"env", "dumpable", "fds", "seccomp"}
		if len(all) == 2 && !tier.All() { // two for each user; that all is held without any is shown by these
			names = names[2*n:][:2]
		}
		for _, name := range names {
			r, said := u.verify(t, bin, "native", name)
			if pages["native"].Compare(t, r); t.Failed() {
				t.Fatalf("%s, %q: %s\n%s", u.name, name, said, table(r))
			}
		}
	}
}

func table(r verify.Report) string {
	var b bytes.Buffer
	if err := r.Table(&b); err != nil {
		return err.Error()
	}
	return b.String()
}

// hostState is what a sandbox without one of its namespaces could change.
func hostState(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	count, err := os.ReadFile("/proc/sys/user/max_user_namespaces")
	if err != nil {
		t.Fatal(err)
	}
	routes, err := os.ReadFile("/proc/net/fib_trie")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s, at most %s namespaces, routes %x", name, bytes.TrimSpace(count), sha256.Sum256(routes))
}

// hasPublicAddress holds where the table of ranges does not know all addresses of
// this host.
func hasPublicAddress(t *testing.T) bool {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		_, closed := address.Closed(p.Addr())
		return err == nil && !closed
	})
}

// build makes the binary in a directory that any user can read. MUTATE_BIN names a
// directory that holds both builds already, for a user who cannot build.
func build(t *testing.T, tag string) string {
	t.Helper()
	name := "ringfence"
	if tag != "" {
		name = tag
	}
	if dir := os.Getenv("MUTATE_BIN"); dir != "" {
		return filepath.Join(dir, name)
	}
	dir := directory(t, os.TempDir(), 0)
	to := filepath.Join(dir, name)
	var err error
	if tag == "" {
		err = built.Ringfence(to)
	} else {
		err = built.Program(to, "../../cmd/ringfence", "-tags", tag)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// user is somebody to be.
type user struct {
	name          string
	uid           int
	home, runtime string
}

// ordinaryID is a user that no machine knows by name, as in many containers.
const ordinaryID = 61234

// users are those that this run can be: root can be both. Homes are not in /tmp,
// and runtime directories are in /run where we may make them there, so that each
// mutation shows one of them alone.
func users(t *testing.T, socket string) []user {
	t.Helper()
	uid := os.Getuid()
	if uid != 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		return []user{{"user", uid, person(t, home, uid, socket), os.Getenv("XDG_RUNTIME_DIR")}}
	}
	return []user{
		{"root", 0, person(t, "/var/lib", 0, socket), directory(t, "/run", 0)},
		{"user", ordinaryID, person(t, "/var/lib", ordinaryID, socket), directory(t, "/run", ordinaryID)},
	}
}

// person is a home directory with the one file that a mutation shows, and a policy that
// says where runsc and the engine are.
func person(t *testing.T, base string, uid int, socket string) string {
	t.Helper()
	home := directory(t, base, uid)
	runsc, err := built.Runsc()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("[rung]\nrunsc = %q\n", runsc)
	if socket != "" {
		text += fmt.Sprintf("engine = %q\n", socket)
	}
	own := filepath.Join(home, ".config", "ringfence")
	config, rules := filepath.Join(home, ".gitconfig"), filepath.Join(own, "policy.toml")
	err = errors.Join(os.WriteFile(config, []byte("[user]\n\tname = A Person\n"), 0o644), os.MkdirAll(own, 0o700),
		os.WriteFile(rules, []byte(text), 0o600))
	for _, path := range []string{config, filepath.Dir(own), own, rules} {
		err = errors.Join(err, os.Lchown(path, uid, -1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// chooses writes the variant of a rung into the user's policy, for the time of a test.
func (u user) chooses(t *testing.T, g ground) {
	t.Helper()
	if g.variant == "" {
		return
	}
	at := filepath.Join(u.home, ".config", "ringfence", "policy.toml")
	text, err := os.ReadFile(at)
	if err == nil {
		err = os.WriteFile(at, fmt.Appendf(slices.Clone(text), "%s = %q\n", g.rung, g.variant), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.WriteFile(at, text, 0o600) })
}

func directory(t *testing.T, base string, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp(base, "ringfence-mutate-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	err = os.Chmod(dir, 0o755)
	if os.Getuid() == 0 {
		err = errors.Join(err, os.Chown(dir, uid, uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// verify runs `ringfence verify --json` as the user. Nothing may be left of it.
func (u user) verify(t *testing.T, bin, rung, mutation string) (verify.Report, string) {
	t.Helper()
	cmd := exec.Command(bin, "verify", "--rung", rung, "--json")
	cmd.Dir = u.home
	cmd.Env = []string{"HOME=" + u.home, "PATH=/usr/local/bin:/usr/bin:/bin", "RINGFENCE_MUTATE=" + mutation}
	if u.runtime != "" {
		cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+u.runtime)
	}
	if u.uid != os.Getuid() {
		id := uint32(u.uid)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var r verify.Report
	if e := json.Unmarshal(stdout.Bytes(), &r); e != nil {
		t.Fatalf("%v: %v\n%s%s", err, e, stdout.String(), stderr.String())
	}
	if bad := r.Count(verify.Missing) + r.Count(verify.Partly); (bad == 0) != (err == nil) {
		t.Errorf("%d are missing or partly there, and it ended with %v", bad, err)
	}
	left, err := filepath.Glob(filepath.Join(u.home, ".local/state/ringfence/*/*"))
	left = slices.DeleteFunc(left, func(at string) bool { return filepath.Base(filepath.Dir(at)) == "microvm" }) // a kernel, ready for the next machine
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
	return r, stderr.String()
}
