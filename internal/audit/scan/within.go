package scan

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// documents are endings of files that no program runs. All others in a directory that is
// given to a program may be what it runs.
var documents = []string{".md", ".markdown", ".rst", ".txt", ".adoc", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".ico", ".webp", ".pdf", ".csv", ".log"}

// within adds the files of the directories that commands run something in, and what the
// settings of a package say is run. What those files use in turn is not looked for.
func (t *tree) within(r *reach) error {
	slices.Sort(r.dirs)
	var dirs []string
	for _, dir := range slices.Compact(r.dirs) {
		files, err := t.filesIn(dir)
		if absent(err) || errors.Is(err, errAway) { // a link out is known by where it leads
			continue
		}
		if err != nil {
			return err
		}
		dirs, r.files = append(dirs, dir), append(r.files, files...)
		mains, known := t.mains(dir)
		r.files, r.all = append(r.files, mains...), r.all || !known
	}
	r.dirs = dirs
	return nil
}

// filesIn lists the files of one directory that could be run.
func (t *tree) filesIn(dir string) (out []string, err error) {
	fd, _, err := t.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	entries, err := f.ReadDir(starredNames + 1)
	if len(entries) > starredNames {
		return nil, errBudget
	}
	for _, e := range entries {
		if !e.IsDir() && !slices.Contains(documents, strings.ToLower(path.Ext(e.Name()))) {
			out = append(out, path.Join(dir, e.Name()))
		}
	}
	if err == io.EOF {
		err = nil
	}
	return out, err
}

// mains are the files that a package.json says the package is, if it can be known. A
// reader takes the first of two members of one name, or the last: both count.
func (t *tree) mains(dir string) (out []string, known bool) {
	data, _, err := t.read(path.Join(dir, "package.json"))
	if absent(err) {
		return nil, true
	}
	n, failed := parseJSON(data)
	if err != nil || failed != nil {
		return nil, false
	}
	var add func(v *node)
	add = func(v *node) {
		for _, k := range v.Kids {
			add(k)
		}
		if rel := path.Join(dir, v.Text); v.Kind == '"' && local(rel) {
			for _, ext := range []string{"", ".js", ".json", ".node", ".mjs", ".cjs", ".ts", "/index.js", "/index.json", "/index.node"} {
				out = append(out, rel+ext)
			}
		}
	}
	for _, m := range n.Members() {
		if slices.Contains([]string{"main", "module", "bin", "exports"}, m.Name) {
			add(m)
		}
	}
	return out, len(out) <= maxWords
}
