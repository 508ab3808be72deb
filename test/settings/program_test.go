package settings

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/npm"
)

// modules is where the agents are.
func modules(t *testing.T) string {
	t.Helper()
	dir, err := npm.Modules()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// one finds the only file of a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %q %v", pattern, found, err)
	}
	return found[0]
}

// program is one that answers lines, in a HOME of its own.
type program struct {
	in   io.WriteCloser
	out  *bufio.Reader
	home string
}

// start runs a program until the test has ended.
func start(t *testing.T, env []string, name string, args ...string) *program {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "home-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = home
	cmd.Env = append([]string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"}, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait() // it was killed
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return &program{in, bufio.NewReaderSize(out, 1<<20), home}
}

func (p *program) say(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		t.Fatal(err)
	}
}

func (p *program) hear(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("it has ended: %v %q", err, line)
	}
	return line
}

// marked lists the paths in a tree at which there is a mark, but for members of the
// harmless names at its top, whose text is only text.
func marked(tree any, harmless ...string) []string {
	var out []string
	var walk func(v any, at []string)
	walk = func(v any, at []string) {
		switch v := v.(type) {
		case map[string]any:
			for name, c := range v {
				if len(at) == 0 && slices.Contains(harmless, name) {
					switch c.(type) {
					case string, []any: // a list is no name of anything
						continue
					}
				}
				if strings.Contains(name, mark) {
					out = append(out, strings.Join(append(at[:len(at):len(at)], name), "."))
				}
				walk(c, append(at[:len(at):len(at)], name))
			}
		case []any:
			for _, c := range v {
				walk(c, append(at[:len(at):len(at)], "[]"))
			}
		case string:
			if strings.Contains(v, mark) {
				out = append(out, strings.Join(at, ".")+" = "+v)
			}
		}
	}
	walk(tree, nil)
	slices.Sort(out)
	return out
}

func decode(t *testing.T, data string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(data), &out); err != nil {
		t.Fatalf("%v: %q", err, data)
	}
	return out
}
