package repo

import (
	"strings"
	"testing"
)

func FuzzGitfile(f *testing.F) {
	for _, s := range []string{"gitdir: ../main/.git/worktrees/wt\n", "gitdir: x", "gitdir: ", "gitdir: a\nb\n", "gitdir: a\r\n",
		"gitdir: a\n\n", "gitdir:a", "gitdir: a\x00b", "gitdir: " + strings.Repeat("a", maxPath) + "\n", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path, err := parseGitfile(b)
		if err != nil {
			return
		}
		// What is taken is exactly what git would have written, give or take the newline.
		if s := "gitdir: " + path; string(b) != s && string(b) != s+"\n" {
			t.Errorf("%q taken as %q", b, path)
		}
		if path == "" || len(path) > maxPath || strings.ContainsAny(path, "\x00\n\r") {
			t.Errorf("%q yields %q", b, path)
		}
	})
}
