package review_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/workspace/review"
)

// TestOutsideMisses: what a person would look for, and what programs write for themselves.
func TestOutsideMisses(t *testing.T) {
	j := review.OutsideJudge{Home: "/home/u", Workspaces: []string{"/home/u/src/p", "/home/u/.dev/q", "/tmp/a/b/w", "/var/tmp/w"}}
	for path, want := range map[string]bool{
		"/home/u/lost": true, "/home/u/wt/file": true, "/home/u/src/lost": true, "/home/u/src/.hidden": true, "/home/u/.dev/lost": true,
		"/home/u/.bashrc": true, "/home/u/.ssh/config": true, "/home/u/.local/bin/x": true, "/home/u/.config/git/config": true, "/home/u/go/bin/x": true,
		"/tmp/a/b/lost": true, "/tmp/a/lost": true, "/tmp/a/.lost": true, "/var/tmp/lost": true,

		"/home/u": false, "/home/u/src": false, "/home/u/src/p": false, "/home/u/src/p/main.go": false, "/home/u/.dev": false, "/home/u/.dev/q/x": false,
		"/home/u/.cache/x": false, "/home/u/.bash_history": false, "/home/u/.local/share/x": false, "/home/u/.config/x/y": false, "/home/u/.bashrc2": false,
		"/home/u/go": false, "/home/u/go/pkg": false, "/home/u/go/pkg/mod/x": false, "/home/u/.ssh/known_hosts": false, "/home/u/.ssh": true,
		"/tmp/x": false, "/tmp/a": false, "/tmp/ab": false, "/var/tmp/.x": false, "/var/tmp/.x/y": false, "/var/tmp/w/x": false, "/etc/x": false,
	} {
		if got := j.Misses(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	in := review.OutsideJudge{Home: "/tmp/x/home", Workspaces: []string{"/tmp/x/w"}}
	for path, want := range map[string]bool{"/tmp/x/home/.cache/y": false, "/tmp/x/home/y": true, "/tmp/x/y": true, "/tmp/x/home": false} {
		if got := in.Misses(path); got != want {
			t.Errorf("HOME beside the workspace, %s: %v, want %v", path, got, want)
		}
	}
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOutsideFind: the topmost names, counted; what was there before is not new; a path that
// is deeper than the walk goes is said to be there.
func TestOutsideFind(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home/u")
	write(t, home+"/src/given")
	write(t, home+"/.config/made")
	inside, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	p, err := review.OpenThrowaway(int(inside.Fd()), []string{"/home/u", "/elsewhere"}, review.OutsideJudge{Home: "/home/u", Workspaces: []string{"/home/u/src/p"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := p.Find(); len(got.Items) != 0 || got.Files != 0 || got.More {
		t.Fatalf("before anything was written: %+v", got)
	}
	for _, name := range []string{"src/given", "src/lost", "wt/a", "wt/b/c", "wt-2", ".cache/x", ".config/x", "empty/.keep"} {
		write(t, filepath.Join(home, name))
	}
	os.Remove(home + "/empty/.keep")
	os.Symlink("/etc/passwd", home+"/link")
	const want = "[{/home/u/empty true 1} {/home/u/link false 1} {/home/u/src/lost false 1} {/home/u/wt true 2} {/home/u/wt-2 false 1}] 6 false"
	if got := p.Find(); fmt.Sprint(got.Items, got.Files, got.More) != want {
		t.Errorf("%v %d %v, want %s", got.Items, got.Files, got.More, want)
	}
	write(t, filepath.Join(home, "deep", strings.Repeat("d/", 80), "x"))
	if got := p.Find(); !got.More {
		t.Error("nothing tells of what lies too deep")
	}
}

// TestOutsideFirst: it is heard of while it happens, and once.
func TestOutsideFirst(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "u")
	write(t, home+"/p/x")
	inside, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	p, err := review.OpenThrowaway(int(inside.Fd()), []string{"/u"}, review.OutsideJudge{Home: "/u", Workspaces: []string{"/u/p"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	heard, done := make(chan review.OutsideName, 8), make(chan error, 1)
	go func() { done <- p.First(make(chan struct{}), func(i review.OutsideName) { heard <- i }) }()
	write(t, home+"/.cache/x")
	write(t, home+"/lost")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if i := <-heard; i.Path != "/u/lost" || len(heard) != 0 {
		t.Errorf("heard of %+v and %d more", i, len(heard))
	}
	ended := make(chan struct{})
	os.Remove(home + "/lost")
	go func() { done <- p.First(ended, func(i review.OutsideName) { heard <- i }) }()
	close(ended)
	if err := <-done; err != nil || len(heard) != 0 {
		t.Errorf("after the end: %v, %d heard", err, len(heard))
	}
}
