package keeper

import (
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// refusedOps write where the sandbox of the tests is read-only or empty: "fixed" is such a
// place, and the directory above the tree can be written.
var refusedOps = []operation{
	{name: "refused", host: "mkdir ../fixed; echo x >../fixed/there", do: func() error {
		cmd := exec.Command("/bin/sh", "-c", `
			echo x >../fixed/new; echo x >>../fixed/there; rm ../fixed/there; mkdir ../fixed; rm -f ../fixed/none
			echo x >../sibling/file; echo x >../.state/file; mkdir ../sibling/dir; test -w ../fixed
			echo x >new; echo x >gone/file; echo x >/dev/null; true`)
		return cmd.Run()
	}},
}

func TestRefused(t *testing.T) {
	b := newBox(t, refusedOps[0].host)
	b.fixed = b.dir + "/fixed"
	b.start("refused")
	if a := b.finish(); a.Err != "" {
		t.Fatal(a.Err)
	}
	b.end()
	want := []Refused{{Path: b.dir + "/fixed/new"}, {Path: b.dir + "/fixed/there"}, {Path: b.dir + "/sibling/file", Absent: true}}
	for i := range b.refused {
		b.refused[i].PID = 0
	}
	if !slices.Equal(b.refused, want) {
		t.Errorf("told of %+v, want %+v", b.refused, want)
	}
	if n := b.keep.Untold(); n != 1 {
		t.Errorf("%d are only counted: that of rm is the one", n)
	}
}

// TestRefuseIsTheOnlyAnswer: a call that a filter hands over and nobody serves fails, and one
// that is to be refused is, whether somebody learns or not.
func TestRefuseIsTheOnlyAnswer(t *testing.T) {
	for _, learn := range []bool{false, true} {
		b := newBox(t, "true")
		b.learn = learn
		b.start("unshares")
		if a := b.finish(); a.Err != "EDOM" {
			t.Errorf("unshare says %q", a.Err)
		}
		b.end()
	}
}

// unshares is refused with a number that only our table would give.
var unshares = operation{name: "unshares", do: func() error { return unix.Unshare(unix.CLONE_NEWUSER) }}

func testRefuse(nr int32, args *[6]uint64) (Refusal, bool) {
	return Refusal{Call: "unshare", Errno: unix.EDOM}, nr == unix.SYS_UNSHARE && args[0] == unix.CLONE_NEWUSER
}

// TestRefusalsAreBounded: who tries ten thousand names is told of the first, by many at once.
func TestRefusalsAreBounded(t *testing.T) {
	var s refusals
	var all sync.WaitGroup
	told := make(chan bool, 10000)
	for w := range 10 {
		all.Go(func() {
			for i := range 1000 {
				if !s.again(itoa(w) + "/" + itoa(i)) {
					told <- true
				}
			}
		})
	}
	all.Wait()
	if len(told) != maxRefused || s.rest != 10000-maxRefused {
		t.Errorf("%d told, %d counted", len(told), s.rest)
	}
}

// fixedEnv names a directory that the sandbox of a test has read-only.
const fixedEnv = "RINGFENCE_KEEPER_FIXED"

func fixPlace() string { return os.Getenv(fixedEnv) }
