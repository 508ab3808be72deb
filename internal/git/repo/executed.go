package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/settings"
)

const (
	maxPacked = 8 << 20
	maxHooks  = 256
)

// Executed returns the files and directories, symlinks followed, that the settings
// of the repository make git run or read settings from and that no name gives away:
// where core.hooksPath leads, what include.path names, the targets of hooks that
// are links. It is for protecting more, so what cannot be read is left out.
func Executed(r *Repo) []string {
	var out []string
	add := func(p string) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		out = append(out, filepath.Clean(p))
	}
	for _, dir := range []string{r.CommonDir, r.GitDir} {
		if dir == "" {
			continue
		}
		for _, name := range []string{"config", "config.worktree"} {
			file := filepath.Join(dir, name)
			if st, err := os.Lstat(file); err == nil && st.Mode()&os.ModeSymlink != 0 {
				add(file)
			}
			for _, p := range executedBy(file, r.Root()) {
				add(p)
			}
		}
		for _, p := range linkedHooks(filepath.Join(dir, "hooks")) {
			add(p)
		}
	}
	for _, m := range modules(r.CommonDir) {
		for _, p := range append(executedBy(filepath.Join(m.dir, "config"), m.tree), linkedHooks(filepath.Join(m.dir, "hooks"))...) {
			add(p)
		}
	}
	return out
}

type module struct{ dir, tree string }

const (
	maxModules = 256
	maxWalked  = 4096
)

// modules finds the git directories of submodules: names have slashes, and modules
// have modules.
func modules(common string) []module {
	var out []module
	left := maxWalked
	filepath.WalkDir(filepath.Join(common, "modules"), func(p string, e os.DirEntry, err error) error {
		if left--; err != nil || left < 0 || len(out) >= maxModules {
			return filepath.SkipAll
		}
		switch {
		case e.IsDir() && slices.Contains([]string{"objects", "refs", "logs", "hooks", "info", "lfs"}, e.Name()):
			return filepath.SkipDir
		case e.Name() == "config" && e.Type().IsRegular():
			if tree := worktreeOf(p); tree != "" {
				out = append(out, module{filepath.Dir(p), tree})
			}
		}
		return nil
	})
	return out
}

func worktreeOf(path string) string {
	b, err := file.Read(path, settings.MaxGitBytes, 0)
	if err != nil {
		return ""
	}
	entries, _ := settings.ParseGit(b)
	for _, e := range entries {
		if at := from(filepath.Dir(path), e.Value); strings.EqualFold(e.Key, "core.worktree") && len(at) > 0 {
			return at[0]
		}
	}
	return ""
}

// maxIncludes is how deep git follows files that include each other.
const maxIncludes = 10

// executedBy reads one config file, and those that it includes. One that is not there
// yet counts as well: whoever makes it gives settings to the repository.
func executedBy(path, root string) []string { return executedFrom(path, root, maxIncludes) }

func executedFrom(path, root string, depth int) []string {
	b, err := file.Read(path, settings.MaxGitBytes, 0)
	if err != nil {
		return nil
	}
	entries, err := settings.ParseGit(b)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		key := strings.ToLower(e.Key)
		switch {
		case key == "core.hookspath", key == "core.attributesfile", key == "init.templatedir":
			out = append(out, from(root, e.Value)...)
		case key == "include.path", strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path"):
			for _, p := range from(filepath.Dir(path), e.Value) {
				out = append(out, p)
				if depth > 0 && len(out) < maxWalked {
					out = append(out, executedFrom(p, root, depth-1)...)
				}
			}
		case programKey(key):
			for _, word := range strings.FieldsFunc(e.Value, func(r rune) bool { return strings.ContainsRune(" \t'\"!;&|()$=", r) }) {
				out = append(out, program(root, word)...)
			}
		}
	}
	return out
}

func from(dir, value string) []string {
	switch {
	case value == "", strings.HasPrefix(value, "~"):
		return nil
	case filepath.IsAbs(value):
		return []string{value}
	}
	return []string{filepath.Join(dir, value)}
}

// program returns a word of a command if it is a file of the worktree.
func program(root, word string) []string {
	p := from(root, word)
	if len(p) == 0 {
		return nil
	}
	if st, err := os.Stat(p[0]); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	return p
}

// programKey holds for settings whose value git runs.
func programKey(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	name := key[strings.LastIndexByte(key, '.')+1:]
	switch section {
	case "alias", "pager", "credential", "gpg", "filter", "merge", "diff", "difftool", "mergetool", "trailer", "man", "browser", "guitool", "sendemail", "lfs", "tar", "interactive":
		return true
	}
	switch name {
	case "fsmonitor", "sshcommand", "pager", "editor", "askpass", "gitproxy", "alternaterefscommand", "uploadpack", "receivepack", "packobjectshook", "cmd", "command", "driver", "program", "process", "clean", "smudge", "textconv", "update", "vcs":
		return true
	}
	return false
}

// linkedHooks returns a directory of hooks that is a link, or the links in it.
func linkedHooks(dir string) []string {
	st, err := os.Lstat(dir)
	if err != nil {
		return nil
	}
	if st.Mode()&os.ModeSymlink != 0 {
		return []string{dir}
	}
	if !st.IsDir() {
		return nil
	}
	d, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxHooks)
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// Head returns the commit that is checked out, or "".
func Head(r *Repo) string {
	if r.GitDir == "" {
		return ""
	}
	b, err := file.Read(filepath.Join(r.GitDir, "HEAD"), 4096, 0)
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(b))
	ref, ok := strings.CutPrefix(text, "ref: ")
	if !ok {
		return objectName(text)
	}
	if !filepath.IsLocal(ref) {
		return ""
	}
	for _, dir := range []string{r.GitDir, r.CommonDir} {
		if b, err := file.Read(filepath.Join(dir, ref), 4096, 0); err == nil {
			return objectName(strings.TrimSpace(string(b)))
		}
	}
	b, err = file.Read(filepath.Join(r.CommonDir, "packed-refs"), maxPacked, 0)
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if id, name, _ := strings.Cut(line, " "); name == ref {
			return objectName(id)
		}
	}
	return ""
}

func objectName(s string) string {
	if len(s) != 40 && len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}
