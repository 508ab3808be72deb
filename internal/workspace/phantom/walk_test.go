package phantom

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func put(t testing.TB, root, rel, data string) {
	t.Helper()
	path := filepath.Join(root, rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func show(found []Found) []string {
	var all []string
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s %s %d %t", f.Rel, f.Kind, f.Size, f.Link))
	}
	slices.Sort(all)
	return all
}

// tree has a bit of everything.
func tree(t testing.TB) string {
	root, outside := t.TempDir(), t.TempDir()
	put(t, outside, ".env", "A=secret12345\n")
	put(t, root, ".env", "A=secret12345\n")
	put(t, root, "a/b/c/id_rsa", realKeys()["rsa"])
	put(t, root, "a/ca.pem", realKeys()["public"])
	put(t, root, "a/own/token", "t0ken-1234\n")
	put(t, root, "main.go", "package main\n")
	put(t, root, "big.tfstate", strings.Repeat(" ", maxFile+1))
	put(t, root, "revealed/.env", "A=secret12345\n")
	for _, p := range []string{".git", "node_modules", "x/vendor", "x/Target", ".venv"} {
		put(t, root, p+"/in/.env", "A=secret12345\n")
	}
	put(t, root, "x/vendor/.env", "A=secret12345\n")
	put(t, root, "dir.key/inner.key", "0123456789abcdef\n")
	for link, target := range map[string]string{".env.link": outside + "/.env", "loop": ".", "out": outside, "a/.env.dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(root, ".env.pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

func rules(t testing.TB) *Rules {
	r, err := Builtin().With([]string{"own/token", "a/own"})
	if err != nil {
		t.Fatal(err)
	}
	return r.Without([]string{"revealed/.env"})
}

func TestFind(t *testing.T) {
	root := tree(t)
	found, done, err := Find(root, rules(t), Budget{})
	if err != nil || !done {
		t.Fatal(done, err)
	}
	want := []string{
		".env values 14 false", ".env.link  0 true", "a/.env.dangling  0 true", fmt.Sprintf("a/b/c/id_rsa key %d false", len(realKeys()["rsa"])),
		fmt.Sprintf("a/ca.pem none %d false", len(realKeys()["public"])), "a/own/token values 11 false", fmt.Sprintf("big.tfstate empty %d false", maxFile+1), "dir.key/inner.key values 17 false",
		"x/vendor/.env values 14 false",
	}
	if got := show(found); !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, _, err := Find(root+"/nowhere", rules(t), Budget{}); err == nil {
		t.Error("a tree that is not there is no error")
	}
}

// Steps of every size find the same.
func TestSteps(t *testing.T) {
	root := tree(t)
	whole, _, err := Find(root, rules(t), Budget{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []Budget{{Entries: 1}, {Entries: 2}, {Entries: 7}, {Dirs: 1}, {Dirs: 3}, {Entries: 3, Dirs: 1}, {Time: time.Nanosecond}} {
		w, err := NewWalk(root, "", rules(t))
		if err != nil {
			t.Fatal(err)
		}
		var all []Found
		steps := 0
		for done := false; !done; steps++ {
			var found []Found
			if found, done, err = w.Step(b); err != nil || steps > 1000 {
				t.Fatal(err, steps)
			}
			if b.Entries > 0 && len(found) > b.Entries {
				t.Errorf("%v: %d found", b, len(found))
			}
			all = append(all, found...)
		}
		w.Close()
		if !slices.Equal(show(all), show(whole)) || b.Time == 0 && steps < 3 {
			t.Errorf("%v: in %d steps %q", b, steps, show(all))
		}
		if _, _, err := w.Step(b); err == nil {
			t.Error("a closed walk walks")
		}
	}
}

// The budget holds within a directory of many.
func TestBudgetOfEntries(t *testing.T) {
	root := t.TempDir()
	for i := range 500 {
		put(t, root, fmt.Sprintf("%03d.key", i), "0123456789abcdef\n")
	}
	w, err := NewWalk(root, "", Builtin())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	found, done, err := w.Step(Budget{Entries: 100})
	if err != nil || done || len(found) < 98 || len(found) > 100 {
		t.Errorf("%d, %t, %v", len(found), done, err)
	}
	rest, done, err := w.Step(Budget{})
	if err != nil || !done || len(found)+len(rest) != 500 {
		t.Errorf("%d and %d, %t, %v", len(found), len(rest), done, err)
	}
}

// A machine that is busy leaves out nothing of what is always looked at.
func TestBudgetOfTime(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		put(t, root, fmt.Sprintf("%d/.env", i), "A=secret12345\n")
	}
	if found, done, err := Find(root, Builtin(), Budget{Time: 1}); err != nil || done || len(found) == 300 {
		t.Errorf("%d, %t, %v", len(found), done, err)
	}
	if found, done, err := Find(root, Builtin(), Budget{Time: 1, Always: 3000}); err != nil || !done || len(found) != 300 {
		t.Errorf("%d, %t, %v", len(found), done, err)
	}
}

// TestTreeChangesMeanwhile: a directory that was seen becomes a link that leads out, or
// is gone, before it is read.
func TestTreeChangesMeanwhile(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	put(t, outside, ".env", "A=secret12345\n")
	put(t, root, "a/.env", "A=secret12345\n")
	put(t, root, "b/.env", "A=secret12345\n")
	w, err := NewWalk(root, "", Builtin())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if found, done, err := w.Step(Budget{Dirs: 1}); len(found) > 0 || done || err != nil {
		t.Fatal(found, done, err)
	}
	for _, d := range []string{"a", "b"} {
		if err := os.RemoveAll(filepath.Join(root, d)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if found, done, err := w.Step(Budget{}); len(found) > 0 || !done || err != nil {
		t.Error(found, done, err)
	}
}

func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	put(t, root, ".env", "A=secret12345\n")
	put(t, root, "closed/.env", "A=secret12345\n")
	for _, p := range []string{".env", "closed"} {
		if err := os.Chmod(filepath.Join(root, p), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(root, "closed"), 0o700)
	want := []string{".env empty 0 false"}
	if os.Geteuid() == 0 {
		want = []string{".env values 14 false", "closed/.env values 14 false"}
	}
	w, err := NewWalk(root, "", Builtin())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var closed []string
	w.Closed = func(rel string) { closed = append(closed, rel) }
	if found, done, err := w.Step(Budget{}); err != nil || !done || !slices.Equal(show(found), want) {
		t.Error(show(found), done, err)
	}
	if os.Geteuid() != 0 && !slices.Equal(closed, []string{"closed"}) {
		t.Error("closed:", closed)
	}
}

// BenchmarkWalk: 100 000 files in 10 000 directories, with a secret in each hundredth.
func BenchmarkWalk(b *testing.B) {
	root := b.TempDir()
	for d := range 10_000 {
		dir := fmt.Sprintf("%s/d%02d/e%03d", root, d%100, d/100)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 10 {
			name := fmt.Sprintf("%s/file%d.go", dir, f)
			if f == 0 && d%100 == 0 {
				name = dir + "/.env"
			}
			if err := os.WriteFile(name, []byte("A=secret12345\n"), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		found, done, err := Find(root, Builtin(), Budget{})
		if err != nil || !done || len(found) != 100 {
			b.Fatal(len(found), done, err)
		}
	}
}

// TestStarved: with no descriptor left nothing is passed over.
func TestStarved(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".env", "d/.env"} {
		put(t, root, name, "API_TOKEN=abcdefghijklmnop\n")
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	w, err := NewWalk(root, "", Builtin())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(w.root) + 2, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	var fds []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	if n := len(fds); n > 0 { // one, for the root: none is left for what is in it
		unix.Close(fds[n-1])
		fds = fds[:n-1]
	}
	found, done, err := w.Step(Budget{})
	for _, fd := range fds {
		unix.Close(fd)
	}
	unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	if len(found) == 2 && done && err == nil {
		return
	}
	if done || err == nil || len(found) != 1 && len(found) != 2 {
		t.Errorf("found %v, done %v, %v: want .env, and d or an error", found, done, err)
	}
}

// TestMany: a tree that is too large to be kept in mind is not found to be without secrets.
func TestMany(t *testing.T) {
	root := t.TempDir()
	for i := range 40 {
		if err := os.MkdirAll(filepath.Join(root, "a", fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, most := range []int{0, 1, 16, 39, 64} {
		w, err := NewWalk(root, "", Builtin())
		if err != nil {
			t.Fatal(err)
		}
		w.Most = most
		_, done, err := w.Step(Budget{})
		w.Close()
		if few := most < 40; errors.Is(err, ErrMany) != few || done == few {
			t.Errorf("%d: done %v, %v", most, done, err)
		}
	}
}

// TestDeep: everything is walked but git's own.
func TestDeep(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/.env", "node_modules/a/b/.env", "vendor/x/y/.env", ".hg/x/.env", ".git/x/.env"} {
		put(t, root, name, "KEY=sk-live-0123456789abcdef\n")
	}
	for deep, want := range map[bool]int{false: 1, true: 4} {
		w, err := NewWalk(root, "", Builtin())
		if err != nil {
			t.Fatal(err)
		}
		w.Deep = deep
		found, done, err := w.Step(Budget{})
		w.Close()
		if len(found) != want || !done || err != nil {
			t.Errorf("deep %v: %v, %v", deep, found, err)
		}
	}
}
