package plan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

var update = flag.Bool("update", false, "write goldens")

// input is a small Debian with one workspace, as a fixture.
func input() plan.Input {
	return plan.Input{
		Session: "fixture", Hostname: "ringfence", Walls: plan.AllWalls(), ABI: 7, Seccomp: []byte{6, 0, 0, 0, 0, 0, 0, 0},
		User: plan.User{Name: "dev", Group: "dev", UID: 1000, GID: 1000, Home: "/home/dev", Shell: "/bin/bash"},
		System: []plan.Node{{Path: "/usr", Real: "/usr"}, {Path: "/bin", Link: "usr/bin", Real: "/usr/bin"},
			{Path: "/etc/os-release", Link: "../usr/lib/os-release", Real: "/usr/lib/os-release"}},
		Mounts: []plan.Mount{
			{Src: "/home/dev/work", Dst: "/home/dev/work", Write: true, ID: &plan.Identity{Dev: 1, Ino: 2}, Why: "workspace"},
			{Src: "/home/dev/.local/state/x/home/.cache", Dst: "/home/dev/.cache", Write: true, Why: "cache"},
			{Src: "/home/dev/work/vendor", Dst: "/home/dev/work/vendor", Why: "flag --ro"},
			{Src: "/data", Dst: "/data", Write: true, Why: "flag --rw"},
		},
		Masks:   []plan.Mask{{Path: "/home/dev/work/.env", Why: "mask"}},
		Files:   []plan.File{{Dst: "/.ringfence/SANDBOX.md", Data: []byte("note\n"), Why: "note"}},
		Links:   []plan.Link{{At: "/home/dev/w", To: "/home/dev/work"}},
		Sizes:   plan.Sizes{Tmp: 1 << 30, Home: 1 << 30, Shm: 1 << 20, Run: 1 << 20},
		Limits:  plan.Limits{Pids: 100, Open: 1000},
		Process: plan.Process{Argv: []plan.Raw{"true"}, Env: []plan.Raw{"HOME=/home/dev", "TOKEN=never shown"}, Dir: "/home/dev/work", Umask: 0o022},
	}
}

func make1(t *testing.T, in plan.Input) *plan.Plan {
	t.Helper()
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func TestGoldens(t *testing.T) {
	p := make1(t, input())
	var text, bwrap bytes.Buffer
	p.Text(&text)
	if err := p.Bwrap(&bwrap); err != nil {
		t.Fatal(err)
	}
	js, err := json.MarshalIndent(p.Redacted(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.txt", text.Bytes())
	golden(t, "plan.json", append(js, '\n'))
	golden(t, "plan.bwrap", bwrap.Bytes())
	if bytes.Contains(text.Bytes(), []byte("never shown")) || bytes.Contains(js, []byte("never shown")) {
		t.Error("a value of the environment is printed")
	}
}

// TestOrder: whatever order the rules come in, the plan is the same, so no later
// bind can shadow an earlier carve-out.
func TestOrder(t *testing.T) {
	want := make1(t, input()).Ops
	rapid.Check(t, func(t *rapid.T) {
		in := input()
		in.Mounts = rapid.Permutation(in.Mounts).Draw(t, "mounts")
		in.System = rapid.Permutation(in.System).Draw(t, "system")
		p, err := plan.Make(in)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, p.Ops); d != "" {
			t.Fatalf("order matters:\n%s", d)
		}
	})
}

// TestAbove: nothing is attached before what is above it, except masks and
// generated files, which come last, and the seal, which is the very last.
func TestAbove(t *testing.T) {
	p := make1(t, input())
	at := map[plan.Raw]int{}
	for i, op := range p.Ops {
		if op.Do == plan.DoBind || op.Do == plan.DoTmpfs {
			at[op.Dst] = i
		}
	}
	for dst, i := range at {
		for above, j := range at {
			if strings.HasPrefix(string(dst), string(above)+"/") && j > i {
				t.Errorf("%s comes after %s, which it would hide", above, dst)
			}
		}
	}
	if last := p.Ops[len(p.Ops)-1]; last.Do != plan.DoReadOnly || last.Dst != "/" {
		t.Errorf("the last operation is %s %s, not the seal of the root", last.Do, last.Dst)
	}
	mask := slices.IndexFunc(p.Ops, func(o plan.Op) bool { return o.Dst == "/home/dev/work/.env" })
	if mask < at["/home/dev/work"] || mask < at["/home/dev/work/vendor"] {
		t.Error("a mask comes before the tree it is in")
	}
}

func TestTighterWins(t *testing.T) {
	in := input()
	in.Mounts = append(in.Mounts, plan.Mount{Src: "/home/dev/work", Dst: "/home/dev/work", Why: "flag --ro"})
	for _, order := range []func([]plan.Mount){func([]plan.Mount) {}, slices.Reverse[[]plan.Mount]} {
		order(in.Mounts)
		for _, op := range make1(t, in).Ops {
			if op.Dst == "/home/dev/work" && op.Write {
				t.Error("of two rules for one place the wider won")
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, change := range map[string]func(*plan.Input){
		"home is the root":       func(in *plan.Input) { in.User.Home = "/" },
		"unclean mount":          func(in *plan.Input) { in.Mounts[0].Dst = "/home/../etc" },
		"mount at the root":      func(in *plan.Input) { in.Mounts[0].Dst = "/" },
		"two sources":            func(in *plan.Input) { in.Mounts[1].Dst = in.Mounts[0].Dst },
		"mount over our file":    func(in *plan.Input) { in.Mounts[3].Dst = "/etc/passwd" },
		"relative source":        func(in *plan.Input) { in.Mounts[3].Src = "data" },
		"no command":             func(in *plan.Input) { in.Process.Argv = nil },
		"NUL in an argument":     func(in *plan.Input) { in.Process.Argv = []plan.Raw{"a\x00b"} },
		"private dir w/o a size": func(in *plan.Input) { in.Sizes.Tmp = 0 },
		"a wall nobody knows":    func(in *plan.Input) { in.Walls = []plan.Wall{"moat"} },
	} {
		in := input()
		change(&in)
		if _, err := plan.Make(in); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestLandlockCoversWritable: every place that can be written by its mount can be
// written by Landlock, and nothing of ringfence's own can.
func TestLandlockCoversWritable(t *testing.T) {
	p := make1(t, input())
	covered := func(dst string) bool {
		return slices.ContainsFunc(p.Landlock.Write, func(w plan.Raw) bool { return dst == string(w) || strings.HasPrefix(dst, string(w)+"/") })
	}
	for _, op := range p.Ops {
		if op.Do == plan.DoBind && op.Write && !covered(string(op.Dst)) {
			t.Errorf("%s is mounted writable and Landlock forbids it", op.Dst)
		}
	}
	for _, never := range []string{"/", "/usr", "/etc", "/proc", "/dev", plan.Own} {
		if covered(never) {
			t.Errorf("Landlock lets %s be changed", never)
		}
	}
}

func TestPasswdCannotBeBroken(t *testing.T) {
	in := input()
	in.User.Name = "dev:x:0:0\nroot2"
	for _, op := range make1(t, in).Ops {
		if op.Dst == "/etc/passwd" && strings.Count(string(op.Data), "\n") != 3 {
			t.Errorf("passwd has the lines %q", op.Data)
		}
	}
}
