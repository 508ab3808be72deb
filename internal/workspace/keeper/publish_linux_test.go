package keeper

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// live are operations on files of variables. A directory that is moved has what is in it
// looked at first, so nobody has to wait for that.
var live = []operation{
	{name: "variables", host: "mkdir d", do: inOrder(writing("d/.env", create, "A=1\n"), renamed("d", "e")), want: "e/ e/.env=A=1\n"},
	{name: "variables, changed", host: "mkdir d; echo B=1 >d/.env", do: inOrder(writing("d/.env", over, "A=1\n"), renamed("d", "e")),
		want: "e/ e/.env=A=1\n"},
	{name: "variables that run something", host: "mkdir d", do: inOrder(writing("d/.env", create, "NODE_OPTIONS=x\n"), refused(unix.EBUSY, renamed("d", "e"))),
		want: "d/", inside: "d/ d/.env=NODE_OPTIONS=x\n", held: "d/.env", upper: "d/ d/.env=NODE_OPTIONS=x\n"},
	{name: "a person's variables that run something", host: "mkdir d; echo PATH=x >d/.env", do: inOrder(writing("d/.env", unix.O_WRONLY|unix.O_APPEND, "A=1\n"), renamed("d", "e")),
		want: "e/ e/.env=PATH=x\nA=1\n"},
}

var public = []operation{
	{name: "public", do: inOrder(writing("d/.env", unix.O_WRONLY|unix.O_APPEND, "B=1\n"), renamed("d", "e"), pause)},
	{name: "opened", do: inOrder(writing("d/.env", unix.O_WRONLY, ""), renamed("d", "e"), pause, reads("e/.env", "A=1\n"))},
	{name: "read meanwhile", do: inOrder(readMeanwhile, pause)},
	{name: "own settings", do: inOrder(func() error { return unix.Chmod(".envrc", 0o644) }, pause, reads(".envrc", "good"))},
}

// TestPublishKilled: what a session that is killed meanwhile leaves beside a file that it
// brings over is found by whoever tidies up.
func TestPublishKilled(t *testing.T) {
	b := newBox(t, "mkdir d; echo A=1 >d/.env")
	b.start("public")
	b.pause()
	left := slices.DeleteFunc(b.noted(), func(rel string) bool { return !strings.HasPrefix(nameOf(rel), becoming) })
	if len(left) == 0 {
		t.Fatal("no name is written down")
	}
	for _, rel := range left { // as if it had been killed just then
		b.sh("mkdir -p tree/d; printf A=1 >tree/" + rel)
	}
	b.kill()
	if err := ClearStandIns(b.dir + "/stand"); err != nil {
		t.Error(err)
	}
	if got, want := b.list("tree"), "d/ e/ e/.env=A=1\nB=1\n"; got != want {
		t.Errorf("tidied up:\n\t%s, want\n\t%s", got, want)
	}
	b.end()
}

// noted lists what the keeper has written down.
func (b *box) noted() (out []string) {
	all, err := readStandIns(b.dir + "/stand")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, x := range all {
		out = append(out, string(x.Rel))
	}
	return out
}

// readMeanwhile reads a file of variables again and again while it becomes live.
func readMeanwhile() error {
	for i := range 100 {
		text := fmt.Sprintf("A=%d\n", i)
		if err := put(".env", create, text); err != nil {
			return err
		}
		for range 200 {
			if err := reads(".env", text)(); err != nil {
				return err
			}
		}
		if err := unix.Unlink(".env"); err != nil {
			return err
		}
	}
	return nil
}

// TestReadMeanwhile: who reads inside finds the file at any moment.
func TestReadMeanwhile(t *testing.T) {
	b := newBox(t, "true")
	b.start("read meanwhile")
	b.pause()
	if a := b.finish(); a.Err != "" {
		t.Error(a.Err)
	}
	b.end()
	if got := b.list("tree") + b.list("upper"); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestTake: what is not what was expected goes back to its place, also where somebody has
// taken ours away in between; nothing is left beside it.
func TestTake(t *testing.T) {
	at := t.TempDir()
	dir, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	for _, c := range []struct {
		name     string
		expected func() bool
		done     bool
		want     string
	}{
		{"as expected", func() bool { return true }, true, "new"},
		{"somebody's", func() bool { return false }, false, "old"},
		{"somebody's, and ours taken away", func() bool { return os.Remove(at+"/.env") != nil }, false, "old"},
	} {
		for name, text := range map[string]string{"temp": "new", ".env": "old"} {
			if err := os.WriteFile(at+"/"+name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		done, err := take(&target{dir: dir, name: ".env"}, "temp", c.expected)
		got, _ := os.ReadFile(at + "/.env")
		if _, gone := os.Lstat(at + "/temp"); done != c.done || err != nil || string(got) != c.want || gone == nil {
			t.Errorf("%s: %v, %v, %q, beside it: %v", c.name, done, err, got, gone)
		}
	}
}

// TestOpenedStays: a file of variables that was opened to write, and not written, stays the
// person's own on the host.
func TestOpenedStays(t *testing.T) {
	b := newBox(t, "mkdir d; echo A=1 >d/.env")
	before, err := os.Stat(b.dir + "/tree/d/.env")
	if err != nil {
		t.Fatal(err)
	}
	b.start("opened")
	b.pause()
	if a := b.finish(); a.Err != "" {
		t.Error(a.Err)
	}
	b.end()
	if after, err := os.Stat(b.dir + "/tree/e/.env"); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("another file is there: %v", err)
	}
	if got := b.list("upper"); got != "" {
		t.Errorf("in the layer is left %s", got)
	}
}

// TestNeutralOfOwn: settings that the session has made its own, and that are the same on the
// host, are no failure, and are its own again when the host puts others in their place.
func TestNeutralOfOwn(t *testing.T) {
	b := newBox(t, "printf good >.envrc")
	b.start("own settings")
	b.pause()
	for _, host := range []string{"true", "printf evil >x; mv x tree/.envrc"} {
		b.sh(host)
		if put, err := b.keep.Neutral(0, ".envrc", []byte("neutral")); put || err != nil {
			t.Errorf("%s: put %v, %v", host, put, err)
		}
	}
	if a := b.finish(); a.Err != "" {
		t.Error(a.Err)
	}
	b.end()
}

// TestStandInsAreBounded: what would not be read again is not written.
func TestStandInsAreBounded(t *testing.T) {
	s, err := openStandIns(t.TempDir() + "/stand")
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	s.size = maxStandIns - 1
	if err := s.note(standIn{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("noted: %v", err)
	}
}
