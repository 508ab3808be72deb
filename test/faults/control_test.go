package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// The controls: every detector that the other tests rely on, shown what it is
// there to see.

func reported(t *testing.T, found []string, want string) {
	t.Helper()
	if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, want) }) {
		t.Errorf("%q was not reported, only %q", want, found)
	}
}

// TestControlProcess follows a program that leaves a daemon behind.
func TestControlProcess(t *testing.T) {
	tr := tracer{victim: supervisor, visit: func(stop, [6]uint64) action { return action{} }, bound: 5 * time.Second}
	script := []string{"/bin/sh", "-c", "setsid sleep 600 >/dev/null 2>&1 &"}
	if err := tr.run(script, &syscall.ProcAttr{Env: environ(), Files: []uintptr{0, 1, 2}}); err != nil {
		t.Fatal(err)
	}
	reported(t, tr.left, `sleep\x00600`)
	if left := processes(); len(left) > 0 {
		t.Errorf("and it was not killed: %q", left)
	}
}

func TestControlFiles(t *testing.T) {
	build(t)
	before := look(t)
	for _, dir := range []string{project, project + "/.git", stage.Home, "/srv/config", "/srv/run", "/tmp", "/var/tmp", "/dev/shm"} {
		name := filepath.Join(dir, "planted")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		reported(t, before.leftovers(t), `file "`+name+`"`)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(project+"/src/main.txt", 0o644); err != nil {
		t.Fatal(err)
	}
	reported(t, before.leftovers(t), `file "`+project+`/src/main.txt"`)
}

func TestControlWatch(t *testing.T) {
	build(t)
	eyes := newWatch(t, project)
	if found := eyes.events(t); len(found) > 0 {
		t.Errorf("nothing was done and yet: %q", found)
	}
	name := project + "/src/planted"
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	reported(t, eyes.events(t), name)
}

// TestControlMount compares the mount table of a namespace before and after a
// mount; on the stage itself an ordinary user could make none.
func TestControlMount(t *testing.T) {
	out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-ec",
		"cat /proc/self/mountinfo; echo ---; mount -t tmpfs planted /mnt; cat /proc/self/mountinfo").Output()
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(out), "---\n")
	reported(t, differ("mount", mountTable(before), mountTable(after)), "planted")
}

func TestControlGroup(t *testing.T) {
	build(t)
	before := look(t)
	for _, top := range stage.Tops() {
		name := top + "/ringfence-planted"
		if err := os.Mkdir(name, 0o755); err != nil {
			if os.Getuid() == 0 {
				t.Fatal(err)
			}
			continue // the tree is root's, and so would be what is left in it
		}
		reported(t, before.leftovers(t), "cgroup "+name)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestControlState(t *testing.T) {
	state := t.TempDir()
	for _, name := range []string{"projects/.new-planted", "projects/0123456789abcdef/home", "surprise"} {
		if err := os.MkdirAll(filepath.Join(state, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{".new-planted", "project 0123456789abcdef holds", "surprise"} {
		reported(t, stateProblems(t, state, false), want)
	}
}
