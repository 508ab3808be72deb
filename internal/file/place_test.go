package file_test

import (
	"testing"

	"ringfence.dev/ringfence/internal/file"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/a/b", "/a", true}, {"/a", "/a", true}, {"/x", "/", true}, {"/", "/", true},
		{"/ab", "/a", false}, {"/a-evil/x", "/a", false}, {"/a", "/a/b", false}, {"/", "/a", false},
	} {
		if file.Within(c.path, c.dir) != c.want {
			t.Errorf("Within(%q, %q) is %v", c.path, c.dir, !c.want)
		}
	}
}

func TestRuns(t *testing.T) {
	programs := []string{"/usr/bin", "", "/home/u/bin"}
	for path, want := range map[string]bool{
		"/home/u/bin/tool": true, "/home/u/bin": true, "/home/u": true, "/home/u/.bashrc": true, "/home/u/.config/autostart/x": true,
		"/home/u/src/.git/hooks/x": true, "/home/u/data/x": false, "/home/u/binary": false, "/srv/x": false,
	} {
		if got := file.Runs(path, programs); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
