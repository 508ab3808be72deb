package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
)

var (
	errAbsent  = errors.New("not there")
	errLarge   = errors.New("too large to be read")
	errNotFile = errors.New("no regular file")
	errLink    = errors.New("leads elsewhere by a link")
)

// read returns a file of at most most bytes. What lies in the project is reached
// without following a link: strangers laid it there. A device or a pipe is never
// opened.
func (w *World) read(path string, most int64) ([]byte, error) {
	fd, err := w.open(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if !isRegular(st) {
		return nil, errNotFile
	}
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	data, err := file.ReadAll(f, most)
	if errors.Is(err, file.ErrLong) {
		err = errLarge
	}
	return data, err
}

// open returns a descriptor that only names the file.
func (w *World) open(path string) (int, error) {
	var fd int
	var err error
	if w.Project != "" && file.Within(path, w.Project) {
		var dir int
		dir, err = unix.Open(w.Project, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
		if err != nil {
			return -1, err
		}
		defer unix.Close(dir)
		rel, _ := filepath.Rel(w.Project, path)
		fd, err = sys.OpenBeneath(dir, rel)
		var st unix.Stat_t
		if err == nil && unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			unix.Close(fd)
			return -1, errLink
		}
	} else {
		fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return -1, errAbsent
	case errors.Is(err, unix.ELOOP):
		return -1, errLink
	}
	return fd, err
}

// document is a settings file that was read.
type document struct {
	path string
	root *node
}

// doc reads a settings file once. It is nil if the file is not there, or cannot be
// understood: that is told by a finding of its own, once.
func (l *look) doc(path string) *document {
	if d, seen := l.docs[path]; seen {
		return d
	}
	l.docs[path] = nil
	most := int64(maxOwn)
	if l.Project != "" && file.Within(path, l.Project) {
		most = maxSettings
	}
	data, err := l.read(path, most)
	if errors.Is(err, errAbsent) || err == nil && len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var root *node
	if err == nil {
		parse := parseJSON
		if strings.HasSuffix(path, ".toml") {
			parse = parseTOML
		}
		root, err = parse(data)
	}
	if err != nil {
		l.broken = append(l.broken, hit{path: path, line: lineOf(err), detail: err.Error()})
		return nil
	}
	d := &document{path: path, root: root}
	l.docs[path] = d
	return d
}

// lineOf is the line that an error of a parser begins with.
func lineOf(err error) int {
	n := 0
	if _, e := fmt.Sscanf(err.Error(), "line %d:", &n); e != nil {
		return 0
	}
	return n
}

// all reads those of some files that are there.
func (l *look) all(paths ...string) []*document {
	var out []*document
	for _, p := range paths {
		if d := l.doc(p); d != nil {
			out = append(out, d)
		}
	}
	return out
}

// lines calls f for each line of a file of text, numbered from 1, until it says stop.
// It reads so much and no more, and says whether that was all.
func (w *World) lines(path string, most int64, f func(n int, line string) (more bool)) {
	data, err := w.read(path, most)
	if err != nil && !errors.Is(err, errLarge) {
		return
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(line) > 1<<16 {
			line = line[:1<<16]
		}
		if !f(n, strings.TrimRight(string(line), "\r\n")) {
			return
		}
	}
}

// names lists a directory, up to a number of entries.
func (w *World) names(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(1024)
	return names
}
