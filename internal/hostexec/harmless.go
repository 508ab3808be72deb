package hostexec

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// Harmless reports whether a held change may be applied without a person: what
// git itself writes in ordinary work and what makes git run nothing. new is nil
// for a file that was deleted. Whatever is not understood is not harmless.
//
// Where a file says an absolute path, only its form is judged; HarmlessIn knows
// the tree as well.
func Harmless(rel string, old, new []byte) bool { return HarmlessIn("", rel, old, new) }

// HarmlessIn is Harmless for a tree whose path on the host is known: absolute
// paths have to lie in it.
func HarmlessIn(tree, rel string, old, new []byte) bool {
	if len(old) > maxLook || len(new) > maxLook || path.Clean(rel) != rel || path.IsAbs(rel) {
		return false
	}
	dir, base := path.Split(rel)
	dir = strings.TrimSuffix(dir, "/")
	if base == ".git" {
		return gitfile(tree, dir, old, new)
	}
	g, ok := gitDirectory(dir)
	switch {
	case path.Base(dir) == "hooks" && strings.HasSuffix(base, ".sample"):
		_, ok = gitDirectory(path.Dir(dir))
		return ok && base != ".sample"
	case !ok:
		return false
	case base == "config" && new != nil:
		return harmlessConfig(g, old, new)
	case g.kind == "worktrees" && base == "commondir":
		return new == nil || string(new) == "../..\n"
	case g.kind == "worktrees" && base == "gitdir":
		return new == nil || worktreePointer(tree, new)
	}
	return false
}

// gitDir is a git directory of the tree, by its path.
type gitDir struct {
	path  string
	owner string // the directory that holds the .git it begins with
	kind  string // "", "modules" or "worktrees"
}

// keywords are names that mean something in a git directory. A submodule called so
// would make its own files look like those of another.
var keywords = map[string]bool{
	"objects": true, "refs": true, "logs": true, "hooks": true, "info": true, "modules": true, "worktrees": true, "config": true,
	".git": true, "": true, ".": true, "..": true,
}

// gitDirectory reads dir as the path of a git directory: .git, perhaps below other
// directories, and then modules with a name or worktrees with one, any number of
// times. Names of modules may have slashes. Case counts: git writes no other.
func gitDirectory(dir string) (gitDir, bool) {
	names := strings.Split(dir, "/")
	at := slices.Index(names, ".git")
	if at < 0 || !printable(dir) {
		return gitDir{}, false
	}
	g := gitDir{path: dir, owner: strings.Join(names[:at], "/")}
	for rest := names[at+1:]; len(rest) > 0; {
		g.kind, rest = rest[0], rest[1:]
		n := 0
		for n < len(rest) && !keywords[strings.ToLower(rest[n])] {
			n++
		}
		if n == 0 || g.kind != "modules" && (g.kind != "worktrees" || n != 1) {
			return g, false
		}
		rest = rest[n:]
	}
	return g, true
}

// gitfile judges the file .git in dir: it has to lead to a git directory that the
// same tree keeps for submodules or worktrees.
func gitfile(tree, dir string, old, new []byte) bool {
	if dir == "" {
		return false // the tree's own
	}
	if new == nil {
		to, ok := pointed(tree, dir, old)
		return ok && to.kind == "worktrees"
	}
	_, ok := pointed(tree, dir, new)
	return ok
}

func pointed(tree, dir string, text []byte) (gitDir, bool) {
	to, ok := bytes.CutPrefix(text, []byte("gitdir: "))
	if !ok {
		return gitDir{}, false
	}
	p, ok := oneLine(to)
	if !ok {
		return gitDir{}, false
	}
	if path.IsAbs(p) {
		if path.Clean(p) != p {
			return gitDir{}, false
		}
		if tree != "" {
			if p, ok = strings.CutPrefix(p, strings.TrimSuffix(tree, "/")+"/"); !ok {
				return gitDir{}, false
			}
		}
	} else if p = path.Join(dir, p); strings.HasPrefix(p, "../") {
		return gitDir{}, false
	}
	g, ok := gitDirectory(p)
	return g, ok && g.kind != "" && (path.IsAbs(p) || g.owner == "" || strings.HasPrefix(dir, g.owner+"/"))
}

// worktreePointer judges what git keeps of a worktree's place: the absolute path
// of its file .git.
func worktreePointer(tree string, text []byte) bool {
	p, ok := oneLine(text)
	if !ok || !path.IsAbs(p) || path.Clean(p) != p || path.Base(p) != ".git" || len(p) <= len("/.git") {
		return false
	}
	return tree == "" || strings.HasPrefix(p, strings.TrimSuffix(tree, "/")+"/") && p != path.Join(tree, ".git")
}

// oneLine returns the only line of a text.
func oneLine(text []byte) (string, bool) {
	line := strings.TrimSuffix(string(text), "\n")
	return line, line != "" && len(line) < 4096 && printable(line) && line == strings.TrimSpace(line)
}

// printable reports whether s is text without anything hidden in it.
func printable(s string) bool { return spelt("x"+strings.ReplaceAll(s, "/", "_")) == "" }
