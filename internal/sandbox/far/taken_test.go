package far

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// TestTakenFollowsNoLink: an agent makes a link and takes it away, and then a directory of that
// name, with a file in it, and takes that away. What is kept of it does not go where the link led.
func TestTakenFollowsNoLink(t *testing.T) {
	root := t.TempDir()
	home, agent, l := filepath.Join(root, "home"), filepath.Join(root, "agent"), &layer{dir: filepath.Join(root, "upper")}
	for _, dir := range []string{home, agent, l.dir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(home, ".bashrc")
	put(t, own, "honest\n")
	src := &upper.Source{Dir: agent}
	sync := func() {
		t.Helper()
		var b bytes.Buffer
		if err := src.Send(&b, l.number, false); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(l.next(), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := l.receive(&b, upper.Most); err != nil {
			t.Fatal(err)
		}
		if err := l.replace(); err != nil {
			t.Fatal(err)
		}
		file.RemoveTree(l.next())
	}
	a := filepath.Join(agent, "a")
	steps := []func() error{
		func() error { put(t, filepath.Join(agent, "x"), "x"); return nil },
		func() error { return os.Symlink(home, a) },
		func() error { return os.Remove(a) },
		func() error {
			if err := os.Mkdir(a, 0o755); err != nil {
				return err
			}
			put(t, filepath.Join(a, ".bashrc"), "evil\n")
			put(t, filepath.Join(a, "new"), "evil\n")
			return nil
		},
		func() error { return os.RemoveAll(a) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		sync()
	}
	if b, err := os.ReadFile(own); err != nil || string(b) != "honest\n" {
		t.Errorf("the file of the host has %q: %v", b, err)
	}
	if _, err := os.Lstat(filepath.Join(home, "new")); err == nil {
		t.Error("a file was made on the host")
	}
	if b, err := os.ReadFile(filepath.Join(l.before(), "a/.bashrc")); err != nil || string(b) != "evil\n" {
		t.Errorf("what was taken away is not kept: %q, %v", b, err)
	}
}

// TestNamesGoesThroughNoLink: a link that stands above a name is not a way to it.
func TestNamesGoesThroughNoLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "d/f"), "x")
	if err := os.Symlink("d", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	layer, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	for rel, want := range map[string]bool{"d": true, "d/f": true, "d/g": false, "d/f/g": true, "l": true, "l/f": true, "l/g": true, "m/n": false} {
		if names(layer, nil, rel) != want {
			t.Errorf("%s: %v", rel, !want)
		}
	}
}

// A deletion of what the host has not got shows in no review: what it takes away is kept.
func TestTakenByWhiteout(t *testing.T) {
	host, agent := t.TempDir(), t.TempDir()
	l := &layer{dir: filepath.Join(t.TempDir(), "upper"), taken: taken{over: host}}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(host, "old"), "the host's\n")
	src := &upper.Source{Dir: agent}
	sync := func() {
		t.Helper()
		var b bytes.Buffer
		if err := src.Send(&b, l.number, false); err != nil {
			t.Fatal(err)
		}
		next, err := Take(&b, l.dir, host)
		if err == nil {
			l.taken.laid = map[string]bool{}
			l.number = max(l.number, 1)
			err = l.replace()
		}
		if err != nil {
			t.Fatal(err)
		}
		next.Drop()
	}
	for _, name := range []string{"old", "new"} {
		put(t, filepath.Join(agent, name), "work\n")
	}
	sync()
	src = &upper.Source{Dir: t.TempDir()}
	l.number = 1
	for _, name := range []string{"old", "new"} {
		if err := unix.Mknod(filepath.Join(src.Dir, name), unix.S_IFCHR, 0); err != nil {
			t.Fatal(err)
		}
	}
	sync()
	for name, want := range map[string]bool{"old": false, "new": true} {
		if _, err := os.Lstat(filepath.Join(l.before(), name)); (err == nil) != want {
			t.Errorf("%s is kept: %v", name, !want)
		}
	}
	if text := l.emptied(); text == "" {
		t.Error("nobody is told")
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
