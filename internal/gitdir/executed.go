package gitdir

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
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
	return out
}

// executedBy reads one config file.
func executedBy(file, root string) []string {
	b, err := readBounded(file, maxConfig)
	if err != nil {
		return nil
	}
	entries, err := parseConfig(b)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		from := root
		switch key := strings.ToLower(e.Key); {
		case key == "core.hookspath", key == "core.fsmonitor", key == "core.attributesfile", key == "init.templatedir":
		case key == "include.path", strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path"):
			from = filepath.Dir(file)
		default:
			continue
		}
		switch {
		case e.Value == "", strings.HasPrefix(e.Value, "~"), !strings.Contains(e.Value, "/") && strings.EqualFold(e.Key, "core.fsmonitor"):
		case filepath.IsAbs(e.Value):
			out = append(out, e.Value)
		default:
			out = append(out, filepath.Join(from, e.Value))
		}
	}
	return out
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
	d, err := os.Open(dir)
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
	b, err := readBounded(filepath.Join(r.GitDir, "HEAD"), 4096)
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
		if b, err := readBounded(filepath.Join(dir, ref), 4096); err == nil {
			return objectName(strings.TrimSpace(string(b)))
		}
	}
	b, err = readBounded(filepath.Join(r.CommonDir, "packed-refs"), maxPacked)
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

func readBounded(file string, most int64) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRegular(f, most)
}
