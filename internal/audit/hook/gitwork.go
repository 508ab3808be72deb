package hook

import (
	"os"
	"path"
	"slices"
	"strings"
)

// unsure is said where the repository could not be looked at.
const unsure = ", and it cannot be told here whether a commit has them"

// gitLoses judges the subcommands of git that overwrite or remove files. A file that is
// named passes: that is how an agent takes one edit of its own back.
func (l *look) gitLoses(dir, name string, args []string) {
	switch name {
	case "reset":
		if option(args, "", "hard") {
			l.overwrites(dir, nil)
		}
	case "checkout":
		l.checkout(dir, args)
	case "switch":
		if option(args, "f", "force") || option(args, "", "discard-changes") {
			l.overwrites(dir, nil)
		}
	case "restore":
		if option(args, "S", "staged") && !option(args, "W", "worktree") {
			return
		}
		if paths := l.broad(dir, operands(longValues(args, "--source"), "s")); len(paths) > 0 {
			l.overwrites(dir, paths)
		}
	case "rm":
		if option(args, "f", "force") && option(args, "r", "") && !option(args, "n", "dry-run") && !option(args, "", "cached") {
			l.overwrites(dir, operands(args, ""))
		}
	case "checkout-index":
		if option(args, "f", "force") {
			l.overwrites(dir, nil)
		}
	case "read-tree":
		if option(args, "u", "") && option(args, "", "reset") {
			l.overwrites(dir, nil)
		}
	case "worktree":
		if words := operands(args, ""); len(words) > 1 && words[0] == "remove" && option(args, "f", "force") {
			l.removedWork(absFrom(dir, words[1]))
		}
	case "clean":
		l.clean(dir, args)
	case "stash":
		if words := operands(args, ""); len(words) > 0 && (words[0] == "drop" || words[0] == "clear") {
			l.loses("throws stashed work away", nil)
		}
	}
}

// checkout is of files where it names some, and of a branch otherwise, which overwrites
// nothing unless it is told to.
func (l *look) checkout(dir string, args []string) {
	words := operands(args, "bB")
	if at := slices.Index(args, "--"); at >= 0 {
		words = args[at+1:]
	}
	paths := l.broad(dir, words)
	if len(paths) > 0 || option(args, "f", "force") {
		l.overwrites(dir, paths)
	}
}

// broad are the paths that are more than a file: a directory, a pattern.
func (l *look) broad(dir string, words []string) (out []string) {
	folder := func(w string) bool {
		if l.sh.where.Work == nil || !known(dir) || !known(w) {
			return false
		}
		st, err := os.Stat(absFrom(dir, w))
		return err == nil && st.IsDir()
	}
	for _, w := range words {
		if folder(w) || w == "." || w == ".." || strings.HasSuffix(w, "/") || strings.HasSuffix(w, "/.") || strings.HasPrefix(w, ":") || strings.ContainsAny(w, "*?[") {
			out = append(out, w)
		}
	}
	return out
}

// overwrites is what puts files back to what git has: of all of the worktree without paths.
func (l *look) overwrites(dir string, paths []string) {
	if slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, ":") }) {
		paths = nil // git's own words for a path, such as the root
	}
	found, ok := l.unsaved(dir, slices.Clone(paths), false)
	if found = tracked(found); len(found) > 0 {
		l.loses("overwrites", found)
	} else if !ok {
		l.loses("overwrites files"+unsure, nil)
	}
}

// clean removes what git does not know.
func (l *look) clean(dir string, args []string) {
	if !option(args, "f", "force") || option(args, "n", "dry-run") {
		return
	}
	all, only := option(args, "x", ""), option(args, "X", "")
	found, ok := l.unsaved(dir, operands(args, "e"), all || only)
	found = slices.DeleteFunc(found, func(u Unsaved) bool {
		folder := strings.HasSuffix(u.Path, "/")
		return u.Tracked || only && !u.Ignored || folder && !option(args, "d", "") || u.Ignored && (folder || built(u.Path))
	})
	if len(found) > 0 {
		l.loses("removes", found)
	} else if !ok {
		l.loses("removes files"+unsure, nil)
	}
}

// built holds for a file that git passes over and a build makes again. What else is passed
// over may be somebody's only copy: settings, keys, a data base.
func built(name string) bool {
	switch path.Ext(name) {
	case ".o", ".a", ".so", ".d", ".obj", ".pyc", ".pyo", ".class", ".log", ".tmp", ".swp", ".test", ".out", ".exe", ".tsbuildinfo", ".map", ".lock":
		return true
	}
	return path.Base(name) == ".DS_Store"
}
