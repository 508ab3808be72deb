package hook

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxRef bounds a file that names a branch.
const maxRef = 4096

// Repository reads what matters of the repository that a directory lies in. All of it
// may be the agent's work: it is text, and nothing in it is run.
func Repository(dir string) Branches {
	var b Branches
	git := gitDir(dir)
	if git == "" {
		return b
	}
	if name, ok := strings.CutPrefix(line(filepath.Join(git, "HEAD")), "ref: refs/heads/"); ok {
		b.Current = name
	}
	common := git
	if c := line(filepath.Join(git, "commondir")); c != "" {
		if common = c; !filepath.IsAbs(c) {
			common = filepath.Join(git, c)
		}
	}
	remotes, err := os.ReadDir(filepath.Join(common, "refs/remotes"))
	if err != nil {
		return b
	}
	for _, r := range remotes[:min(len(remotes), 16)] {
		if name, ok := strings.CutPrefix(line(filepath.Join(common, "refs/remotes", r.Name(), "HEAD")), "ref: refs/remotes/"+r.Name()+"/"); ok && !slices.Contains(b.Guarded, name) {
			b.Guarded = append(b.Guarded, name)
		}
	}
	return b
}

// gitDir finds the git directory of what dir lies in.
func gitDir(dir string) string {
	for range 64 {
		path := filepath.Join(dir, ".git")
		info, err := os.Lstat(path)
		switch {
		case err == nil && info.IsDir():
			return path
		case err == nil && info.Mode().IsRegular():
			target, ok := strings.CutPrefix(line(path), "gitdir: ")
			if !ok {
				return ""
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(dir, target)
			}
			return target
		}
		if dir == "/" || dir == "." {
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// line reads the first line of a small file. A pipe in its place must not hold us up.
func line(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRef))
	if err != nil {
		return ""
	}
	text, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(text)
}
