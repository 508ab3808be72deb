package toolbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of one tool. One that is larger is refused.
const (
	maxEntries = 100_000
	maxBytes   = 4 << 30
	maxDepth   = 64
)

// tree is what lies where a tool was fetched.
type tree struct {
	size     int64
	commands []found
	needs    []string // NAME=VALUE of variables that its programs need
	left     []string
}

// found is a command, by what it is in the end.
type found struct{ name, at string }

// script starts it. All that stands in it is ours, or a plain word, or quoted.
func (c found) script(needs []string) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, n := range needs {
		name, value, _ := strings.Cut(n, "=")
		fmt.Fprintf(&b, "%s=%s${%s:+:$%s}\nexport %s\n", name, value, name, name, name)
	}
	fmt.Fprintf(&b, "exec %s \"$@\"\n", quote(c.at))
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// looker walks a tree by descriptors. It follows no link.
type looker struct {
	tree
	inside string // where the tree is seen
	count  int
	links  map[uint64]*linked
	bins   map[string]string // entries of directories of commands, by path: where a link leads, or ""
	dirs   map[string]bool
}

// linked is a file that has several names.
type linked struct {
	path       string
	want, seen uint64
}

// inspect refuses what no tool needs: devices, sockets, programs that change who runs them,
// files with a name elsewhere, and what is beyond the bounds.
func inspect(dir, inside string) (tree, error) {
	top, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return tree{}, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	l := &looker{inside: inside, links: map[uint64]*linked{}, bins: map[string]string{}, dirs: map[string]bool{}}
	if err := l.walk(os.NewFile(uintptr(top), dir), "", 0); err != nil {
		return tree{}, err
	}
	for _, k := range l.links {
		if k.seen != k.want {
			return tree{}, fmt.Errorf("%q has a name elsewhere", k.path)
		}
	}
	l.offer()
	l.need()
	return l.tree, nil
}

// walk looks at one directory, which it closes.
func (l *looker) walk(dir *os.File, rel string, depth int) error {
	defer dir.Close()
	if depth > maxDepth {
		return fmt.Errorf("it is deeper than %d directories", maxDepth)
	}
	l.dirs[rel] = true
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if err := l.look(dir, path.Join(rel, name), name, depth); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil: // what was not looked at is not kept
			return &os.PathError{Op: "read", Path: rel, Err: err}
		}
	}
}

func (l *looker) look(dir *os.File, rel, name string, depth int) error {
	if l.count++; l.count > maxEntries {
		return fmt.Errorf("it has more than %d files", maxEntries)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "stat", Path: rel, Err: err}
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%q belongs to somebody else", rel)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: rel, Err: err}
		}
		return l.walk(os.NewFile(uintptr(fd), rel), rel, depth+1)
	case unix.S_IFREG:
		return l.regular(rel, &st)
	case unix.S_IFLNK:
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(int(dir.Fd()), name, buf)
		if err != nil || n == 0 {
			return &os.PathError{Op: "readlink", Path: rel, Err: errors.Join(err, fs.ErrInvalid)}
		}
		l.bins[rel] = string(buf[:n])
		return nil
	}
	return fmt.Errorf("%q is neither a file nor a directory nor a link", rel)
}

func (l *looker) regular(rel string, st *unix.Stat_t) error {
	if st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		return fmt.Errorf("%q is setuid or setgid", rel)
	}
	if st.Nlink > 1 {
		k := l.links[st.Ino]
		if k == nil {
			k = &linked{path: rel, want: uint64(st.Nlink)}
			l.links[st.Ino] = k
		}
		if k.seen++; k.seen > 1 {
			return l.program(rel, st)
		}
	}
	if l.size += max(st.Size, st.Blocks*512); l.size > maxBytes || st.Size > maxBytes {
		return fmt.Errorf("it is larger than %d GiB", int64(maxBytes)>>30)
	}
	return l.program(rel, st)
}

// program remembers a file that can be run, and one that programs load.
func (l *looker) program(rel string, st *unix.Stat_t) error {
	if strings.Contains(path.Base(rel), ".so") && slices.Contains([]string{"lib", "usr"}, strings.SplitN(rel, "/", 2)[0]) {
		l.dirs["so:"+path.Dir(rel)] = true
	}
	if st.Mode&0o111 != 0 {
		l.bins[rel] = ""
	}
	return nil
}

// commandDirs are where programs lie, the first first.
var commandDirs = []string{"bin", "usr/bin", "usr/games", "sbin", "usr/sbin"}

// offer finds the commands.
func (l *looker) offer() {
	have, odd := map[string]bool{}, 0
	for _, dir := range commandDirs {
		for _, rel := range sorted(l.bins) {
			name := path.Base(rel)
			if path.Dir(rel) != dir || have[name] {
				continue
			}
			at, ok := l.resolve(rel)
			switch {
			case !ok: // as python of a virtual environment: it is the host's
				continue
			case !validCommand(name):
				odd++
				continue
			}
			have[name] = true
			l.commands = append(l.commands, found{name, filepath.Join(l.inside, at)})
		}
	}
	if odd > 0 {
		l.left = append(l.left, fmt.Sprintf("%d commands whose names are no plain words", odd))
	}
}

func sorted(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// resolve follows links within the tree, by what was found. An absolute one begins at the top
// of the tree, as a package means it, or where the tree is seen.
func (l *looker) resolve(rel string) (string, bool) {
	for range 16 {
		to, ok := l.bins[rel]
		switch {
		case !ok:
			return "", false
		case to == "":
			return rel, true
		case strings.HasPrefix(to, l.inside+"/"):
			rel = path.Clean(to[len(l.inside)+1:])
		case path.IsAbs(to):
			rel = path.Clean(to)[1:]
		default:
			rel = path.Join(path.Dir(rel), to)
		}
		if rel == ".." || strings.HasPrefix(rel, "../") {
			return "", false
		}
	}
	return "", false
}

// need says where the programs of a package that is not installed find their parts.
func (l *looker) need() {
	var libs []string
	for dir := range l.dirs {
		if rel, ok := strings.CutPrefix(dir, "so:"); ok && libraryDir(rel) {
			libs = append(libs, quote(filepath.Join(l.inside, rel)))
		}
	}
	slices.Sort(libs)
	if len(libs) > 0 {
		l.needs = append(l.needs, "LD_LIBRARY_PATH="+strings.Join(libs, ":"))
	}
	for _, n := range [][2]string{{"PYTHONPATH", "usr/lib/python3/dist-packages"}, {"PERL5LIB", "usr/share/perl5"}} {
		if l.dirs[n[1]] {
			l.needs = append(l.needs, n[0]+"="+quote(filepath.Join(l.inside, n[1])))
		}
	}
}

// libraryDir holds for lib, usr/lib and what is right below them by architecture.
func libraryDir(rel string) bool {
	rel = strings.TrimPrefix(rel, "usr/")
	return rel == "lib" || path.Dir(rel) == "lib" && strings.Contains(path.Base(rel), "-linux-")
}
