package gitoracle

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// finding is something that must not happen on the host.
type finding struct {
	kind string // exec, write, change, canary, hang
	what string
}

func (f finding) String() string { return f.kind + ": " + f.what }

// tell fails a test by what was found, the first of each kind.
func tell(t testing.TB, found []finding) {
	t.Helper()
	kinds := map[string]int{}
	for _, f := range found {
		if kinds[f.kind]++; kinds[f.kind] == 1 {
			t.Error(f)
		}
	}
	if len(found) > len(kinds) {
		t.Errorf("and %d more", len(found)-len(kinds))
	}
}

// watch runs a script of the host's and returns what it executed and wrote that it
// should not have.
func (s *scene) watch(script string) ([]finding, error) {
	before, err := s.around()
	if err != nil {
		return nil, err
	}
	var out []finding
	t := tracer{
		onExec: func(path string, argv []string) {
			if !s.ours(path, argv) {
				out = append(out, finding{"exec", fmt.Sprintf("%s %q", path, argv)})
			}
		},
		onWrite: func(path string) {
			if !s.writable(path) {
				out = append(out, finding{"write", path})
			}
		},
	}
	switch err := t.run(s.ws(), s.env(), "/bin/bash", "-c", script, "host"); {
	case err == errHang:
		out = append(out, finding{"hang", "the host's commands did not end"})
	case err != nil:
		return nil, err
	case t.execs < 20:
		return nil, fmt.Errorf("the witness saw %d programs: it does not work here", t.execs)
	}
	after, err := s.around()
	if err != nil {
		return nil, err
	}
	for name := range after {
		if after[name] != before[name] {
			out = append(out, finding{"change", name})
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out = append(out, finding{"change", "gone: " + name})
		}
	}
	slices.SortFunc(out, func(a, b finding) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out), nil
}

// around takes down all that lies around the workspace.
func (s *scene) around() (map[string]string, error) {
	out := map[string]string{}
	for _, top := range []string{s.home(), s.outside()} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && path == s.home()+"/.local" {
				return fs.SkipDir // our own records
			}
			st, err := d.Info()
			if err != nil {
				return err
			}
			what := st.Mode().String()
			if !d.IsDir() {
				what += fmt.Sprint(st.Size(), st.ModTime().UnixNano())
			}
			out[path] = what
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writable holds for what the host's own commands may write.
func (s *scene) writable(path string) bool {
	for _, top := range []string{s.ws(), s.tmp(), "/dev/pts"} {
		if strings.HasPrefix(path, top+"/") {
			return true
		}
	}
	return slices.Contains([]string{"/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts/ptmx"}, path) || strings.HasPrefix(path, "/proc/")
}
