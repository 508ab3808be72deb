package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/stage"
)

// TestFullDisk launches for the first time with the project's state on a disk that
// has room for ever more names, and ever more bytes, until there is enough. Before
// that every launch must be refused with the reason, and whatever it got done must
// not be in the way when there is room again. Each user plays every second number, and
// both play 0.
func TestFullDisk(t *testing.T) {
	build(t)
	for _, what := range []string{"names", "bytes"} {
		t.Run(what, func(t *testing.T) {
			for free := 0; ; free++ {
				if free > 0 && !stage.Mine(free) {
					continue
				}
				empty(t, stage.Small)
				fill(t, what, free)
				enough := launchOn(t, fmt.Sprintf("%d %s free", free, what))
				if enough && free == 0 {
					t.Fatal("the disk was not full")
				}
				if enough {
					t.Logf("%d were enough", free)
					return
				}
			}
		})
	}
}

// launchOn launches with the state on the small disk and reports whether it had
// room for it.
func launchOn(t *testing.T, when string) bool {
	t.Helper()
	const state = stage.Small + "/ringfence"
	session := func() (int, string, string) {
		cmd := exec.Command(stage.Ringfence, "run", "--", "/bin/sh", "-c", "echo ran; exit 3")
		cmd.Dir, cmd.Env = project, append(environ(), "XDG_STATE_HOME="+stage.Small)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
	before := look(t)
	status, out, errs := session()
	if status == 3 {
		return true
	}
	problems := slices.DeleteFunc(before.leftovers(t), func(s string) bool { return strings.Contains(s, stage.Small) })
	problems = append(problems, stateProblems(t, state, true)...)
	if status != 125 || out != "" || !strings.Contains(errs, "ringfence: error: ") || !strings.Contains(errs, syscall.ENOSPC.Error()) {
		problems = append(problems, fmt.Sprintf("status %d, output %q, reason %q", status, out, errs))
	}
	for _, name := range ballast(t) {
		os.Remove(name)
	}
	if !tried(t, state) || len(problems) > 0 {
		if status, _, errs := session(); status != 3 {
			problems = append(problems, fmt.Sprintf("with room again: status %d: %s", status, errs))
		}
		problems = append(problems, stateProblems(t, state, false)...)
	}
	if len(problems) > 0 {
		t.Errorf("%s:\n  %s", when, strings.Join(problems, "\n  "))
	}
	return false
}

func ballast(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(stage.Small + "/ballast-*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// fill leaves room for so many names, or so many pages of data.
func fill(t *testing.T, what string, free int) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(stage.Small, &st); err != nil {
		t.Fatal(err)
	}
	if what == "bytes" {
		size := (int(st.Bfree) - free) * int(st.Bsize)
		if err := os.WriteFile(stage.Small+"/ballast-0", make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i := range int(st.Ffree) - free {
		if err := os.WriteFile(fmt.Sprintf("%s/ballast-%d", stage.Small, i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
