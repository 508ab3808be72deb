package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == probeName {
		os.Exit(look())
	}
	os.Exit(m.Run())
}

func TestOracle(t *testing.T) {
	version, err := exec.Command("bwrap", "--version").Output()
	if err != nil {
		t.Fatalf("bubblewrap is the oracle and is not here: %v", err)
	}
	bin := buildRingfence(t)
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, bin, uid)
			s.stand()
			var seen trio
			seen.host = s.see(s.probe())
			control(t, seen.host, s)
			seen.ours = s.see(s.ringfence("--no-input")...)
			seen.theirs = s.see(s.bubblewrap()...)
			if _, err := os.Lstat(s.work + "/nowhere"); err == nil {
				t.Error("a mask left a stub in the workspace")
			}
			blind(t, trio{ours: seen.host, theirs: seen.theirs, host: seen.host}, s)
			rows := append(seen.rows(s.canary, s.word), seen.mountRows()...)
			for _, r := range rows {
				switch {
				case r.verdict == looser:
					t.Errorf("%s: ours %s, bubblewrap's %s", r.name, r.ours, r.theirs)
				case r.verdict == equal && (r.name == firstEnviron || r.name == firstCmdline):
					t.Errorf("%s: bubblewrap's is silent too, so the row proves nothing", r.name)
				}
			}
			t.Logf("%s\n%s", strings.TrimSpace(string(version)), render(rows))
		})
	}
}

// users are those that this run can be: root can be both.
func users() map[string]int {
	if uid := os.Getuid(); uid != 0 {
		return map[string]int{"user": uid}
	}
	return map[string]int{"root": 0, "user": ordinaryID}
}

// control: on the bare host the probe must see what the sandboxes are to hide.
func control(t *testing.T, host *sight, s *scene) {
	t.Helper()
	if !slices.Contains(host.Environ, "ORACLE_CANARY="+s.canary) || !slices.Contains(host.Descriptors, s.home) ||
		!strings.Contains(strings.Join(host.Processes, "\n"), s.canary) || len(host.Nodes) == 0 {
		t.Fatalf("on the bare host the probe is blind: %+v", host)
	}
	if host.Status["NoNewPrivs"] != "0" || strings.HasPrefix(host.Keyctl, "refused: EPERM") {
		t.Fatalf("the host is a sandbox itself: %v, keyctl %s", host.Status["NoNewPrivs"], host.Keyctl)
	}
}

// blind: were ours the bare host, these rows would have to say so.
func blind(t *testing.T, bare trio, s *scene) {
	t.Helper()
	want := []string{"processes of the host", "variables", "inherited descriptors", "names in /dev", "devices", "writable in /proc",
		"visible processes", "nested user namespace", "CapBnd", "NoNewPrivs", "Seccomp", "mount points", "mount /", "mount /usr", "mount /proc"}
	for _, kind := range probe.Kinds() {
		want = append(want, kind+" namespace")
	}
	for _, r := range append(bare.rows(s.canary, s.word), bare.mountRows()...) {
		if slices.Contains(want, r.name) && r.verdict != looser {
			t.Errorf("%s: the bare host is found %s", r.name, r.verdict)
		}
	}
}

func render(rows []row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "row\tringfence\tbubblewrap\tours is")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.name, r.ours, r.theirs, r.verdict)
	}
	w.Flush()
	return b.String()
}
