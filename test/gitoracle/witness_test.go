package gitoracle

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// calls are those that the witness listens to.
const calls = "trace=execve,execveat,open,openat,openat2,creat"

// watch runs a script of the host's and returns what it executed and wrote that it
// should not have.
func (s *scene) watch(script string) ([]finding, error) {
	before, err := s.around()
	if err != nil {
		return nil, err
	}
	traces, err := os.MkdirTemp(filepath.Dir(s.dir), "trace")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(traces)
	_, err = s.command(s.ws(), nil, "/usr/bin/strace", "-ff", "--seccomp-bpf", "-qqq", "-y", "-s", "4096", "-e", calls, "-e", "signal=none",
		"-o", traces+"/t", "/bin/bash", "-c", script, "host")
	var out []finding
	if err == errHang {
		out = append(out, finding{"hang", "the host's commands did not end"})
	}
	seen, err := s.judge(traces)
	if err != nil {
		return nil, err
	}
	out = append(out, seen...)
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

// judge reads what the witness took down, a file a process.
func (s *scene) judge(traces string) ([]finding, error) {
	files, err := filepath.Glob(traces + "/t.*")
	if err != nil {
		return nil, err
	}
	if len(files) < 10 {
		return nil, fmt.Errorf("the witness saw %d processes: it does not work here", len(files))
	}
	var out []finding
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			f, err := s.judgeCall(strings.TrimSuffix(line, "\n"))
			if err != nil {
				return nil, err
			}
			if f != nil {
				out = append(out, *f)
			}
		}
	}
	return out, nil
}

func (s *scene) judgeCall(line string) (*finding, error) {
	name, rest, ok := strings.Cut(line, "(")
	if !ok {
		return nil, fmt.Errorf("witness: %q", line)
	}
	switch {
	case name == "execve" || name == "execveat":
		return s.judgeExec(name, rest)
	case !strings.Contains(rest, "O_WRONLY") && !strings.Contains(rest, "O_RDWR") && !strings.Contains(rest, "O_CREAT") && name != "creat":
		return nil, nil
	}
	m := opened.FindStringSubmatch(rest)
	if m == nil {
		return nil, nil // it failed
	}
	path := unquote(m[1])
	if s.writable(path) {
		return nil, nil
	}
	return &finding{"write", path}, nil
}

// opened finds the path behind the descriptor that a call returned.
var opened = regexp.MustCompile(`\) = \d+<(.*)>$`)

// writable holds for what the host's own commands may write.
func (s *scene) writable(path string) bool {
	path = strings.TrimSuffix(path, " (deleted)")
	for _, top := range []string{s.ws(), s.tmp(), "/dev/pts"} {
		if strings.HasPrefix(path, top+"/") {
			return true
		}
	}
	return slices.Contains([]string{"/dev/null", "/dev/tty", "/dev/ptmx", "/proc/self/oom_score_adj"}, path) || strings.HasPrefix(path, "pipe:") ||
		strings.HasPrefix(path, "/dev/null<") || strings.HasPrefix(path, "/dev/tty<") || strings.HasPrefix(path, "/dev/ptmx<") || strings.HasPrefix(path, "/dev/shm/sem.")
}

// judgeExec reads one execution: the path, the arguments, how it ended.
func (s *scene) judgeExec(call, rest string) (*finding, error) {
	path, argv, ok := parseExec(call, rest)
	if !ok {
		return nil, fmt.Errorf("witness: exec %q", rest)
	}
	failed := strings.Contains(rest[strings.LastIndex(rest, ")"):], "= -1") || strings.Contains(rest, ") = -1 E")
	switch {
	case strings.HasPrefix(path, s.ws()+"/"), !filepath.IsAbs(path):
	case failed, s.ours(path, argv):
		return nil, nil
	}
	return &finding{"exec", fmt.Sprintf("%s %q", path, argv)}, nil
}

// parseExec reads PATH, [ARGV], as strace writes them.
func parseExec(call, rest string) (path string, argv []string, ok bool) {
	if call == "execveat" {
		_, after, cut := strings.Cut(rest, ", ")
		if !cut {
			return "", nil, false
		}
		rest = after
	}
	path, rest, ok = quoted(rest)
	if !ok {
		return "", nil, false
	}
	if rest, ok = strings.CutPrefix(rest, ", ["); !ok {
		return path, nil, strings.HasPrefix(rest, ", NULL") || strings.HasPrefix(rest, ", 0x")
	}
	for !strings.HasPrefix(rest, "]") {
		var arg string
		if strings.HasPrefix(rest, "...") {
			return path, append(argv, "..."), true
		}
		if arg, rest, ok = quoted(rest); !ok {
			return "", nil, false
		}
		argv = append(argv, arg)
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "..."), ", ")
	}
	return path, argv, true
}

// quoted reads a string of C and returns what follows it.
func quoted(s string) (text, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return unquote(s[1:i]), s[i+1:], true
		}
	}
	return "", "", false
}

// unquote undoes strace's escapes.
func unquote(s string) string {
	return escape.ReplaceAllStringFunc(s, func(e string) string {
		if i := strings.IndexByte("ntrfv\\\"", e[1]); i >= 0 {
			return "\n\t\r\f\v\\\""[i : i+1]
		}
		n, _ := strconv.ParseUint(e[1:], 8, 8)
		return string([]byte{byte(n)})
	})
}

var escape = regexp.MustCompile(`\\([ntrfv\\"]|[0-7]{1,3})`)
