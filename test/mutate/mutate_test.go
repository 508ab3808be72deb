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
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/tier"
)

// The table leaves out every wall, and every check is among those that turn: one
// that no mutation reaches might as well be painted on.
func TestTableIsComplete(t *testing.T) {
	var turned []string
	for _, m := range mutations {
		turned = append(turned, m.missing...)
		for _, name := range slices.Concat(m.missing, m.asRoot, m.public, m.may) {
			if !slices.ContainsFunc(verify.Checks(), func(c verify.Check) bool { return c.Name == name }) {
				t.Errorf("%s: no check %q", m.name, name)
			}
		}
	}
	for _, c := range verify.Checks() {
		if !slices.Contains(turned, c.Name) {
			t.Errorf("no mutation turns check %d %s", c.N, c.Name)
		}
	}
	for _, w := range plan.AllWalls() {
		if !slices.ContainsFunc(mutations, func(m mutation) bool { return m.name == string(w) }) {
			t.Errorf("no mutation leaves wall %s out", w)
		}
	}
}

func TestMutations(t *testing.T) {
	bin := build(t, "ringfence_mutate")
	all := users(t)
	for n, u := range all {
		t.Run(u.name, func(t *testing.T) {
			if r, _ := u.verify(t, bin, ""); r.Count(verify.Held) != len(verify.Checks()) {
				t.Fatalf("with every wall standing:\n%s", table(r))
			}
			for i, m := range mutations {
				if m.same && len(all) == 2 && (i+n)%2 != 0 && !tier.All() {
					continue // the other user's
				}
				t.Run(m.name, func(t *testing.T) { m.test(t, u, bin) })
			}
		})
	}
}

func (m mutation) test(t *testing.T, u user, bin string) {
	before := hostState(t)
	r, said := u.verify(t, bin, m.name)
	if after := hostState(t); after != before {
		t.Errorf("the host was %q and is %q", before, after)
	}
	if m.refused && u.uid != 0 {
		if r.Count(verify.Missing) != len(verify.Checks()) || !strings.Contains(said, "ringfence: error: ") {
			t.Errorf("not refused: %s\n%s", said, table(r))
		}
		return
	}
	want := m.missing
	if u.uid == 0 {
		want = slices.Concat(want, m.asRoot)
	}
	if hasPublicAddress(t) {
		want = slices.Concat(want, m.public)
	}
	for _, row := range r.Rows {
		must, may := slices.Contains(want, row.Name), slices.Contains(m.may, row.Name)
		switch {
		case must && row.Result != verify.Missing:
			t.Errorf("%d %s is %s: %s (witness %s)", row.N, row.Name, row.Result, row.Detail, row.Witness)
		case !must && !may && row.Result != verify.Held:
			t.Errorf("%d %s is %s too: %s", row.N, row.Name, row.Result, row.Detail)
		}
	}
}

// The build that people get has no such switch.
func TestNoSwitchInTheRealBuild(t *testing.T) {
	bin := build(t, "")
	all := users(t)
	for n, u := range all {
		names := []string{"env", "dumpable", "fds", "seccomp"}
		if len(all) == 2 && !tier.All() { // two for each user; that all is held without any is shown by these
			names = names[2*n:][:2]
		}
		for _, name := range names {
			if r, said := u.verify(t, bin, name); r.Count(verify.Held) != len(verify.Checks()) {
				t.Errorf("%s, %q: %s\n%s", u.name, name, said, table(r))
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
func users(t *testing.T) []user {
	t.Helper()
	uid := os.Getuid()
	if uid != 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		return []user{{"user", uid, person(t, home, uid), os.Getenv("XDG_RUNTIME_DIR")}}
	}
	return []user{
		{"root", 0, person(t, "/var/lib", 0), directory(t, "/run", 0)},
		{"user", ordinaryID, person(t, "/var/lib", ordinaryID), directory(t, "/run", ordinaryID)},
	}
}

// person is a home directory with the one file that a mutation shows.
func person(t *testing.T, base string, uid int) string {
	t.Helper()
	home := directory(t, base, uid)
	config := filepath.Join(home, ".gitconfig")
	if err := errors.Join(os.WriteFile(config, []byte("[user]\n\tname = A Person\n"), 0o644), os.Lchown(config, uid, -1)); err != nil {
		t.Fatal(err)
	}
	return home
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
func (u user) verify(t *testing.T, bin, mutation string) (verify.Report, string) {
	t.Helper()
	cmd := exec.Command(bin, "verify", "--json")
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
	if clean := r.Count(verify.Missing) == 0; clean != (err == nil) {
		t.Errorf("%d are missing and it ended with %v", r.Count(verify.Missing), err)
	}
	left, err := filepath.Glob(filepath.Join(u.home, ".local/state/ringfence/*/*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
	return r, stderr.String()
}
