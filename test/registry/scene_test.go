package registry

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

func TestMain(m *testing.M) { stage.Main(m) }

// scene is a user with a registry.
type scene struct {
	t     testing.TB
	state string   // of ringfence: one for all projects of a scene
	env   []string // of the launcher
	dirs  int
}

func begin(t testing.TB) *scene {
	t.Helper()
	state, err := os.MkdirTemp("", "state-") // goes with the stage: modules are read-only
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, state: state}
	s.env = []string{"HOME=" + stage.Home, "LANG=C.UTF-8", "XDG_STATE_HOME=" + s.state, "XDG_CONFIG_HOME=" + filepath.Join(s.state, "config"),
		"PATH=" + built.GoBin() + ":" + os.Getenv("PATH")}
	return s
}

// project makes a directory with files, a name and its text in turn.
func (s *scene) project(files ...string) string {
	s.t.Helper()
	s.dirs++
	dir := filepath.Join(stage.Work, s.t.Name(), string(rune('a'+s.dirs)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.RemoveAll(dir) })
	for i := 0; i < len(files); i += 2 {
		s.write(filepath.Join(dir, files[i]), files[i+1])
	}
	return dir
}

func (s *scene) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a shell's command inside, in a directory.
func (s *scene) run(dir, script string, flags ...string) (out string, ok bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, stage.Ringfence, slices.Concat([]string{"run"}, flags, []string{"--", "sh", "-c", script})...)
	cmd.Dir, cmd.Env = dir, s.env
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err := cmd.Run()
	if ctx.Err() != nil {
		s.t.Fatalf("%q: %v\n%s", script, ctx.Err(), &all)
	}
	return all.String(), err == nil
}

// must is run, and has to succeed.
func (s *scene) must(dir, script string, flags ...string) string {
	s.t.Helper()
	out, ok := s.run(dir, script, flags...)
	if !ok {
		s.t.Fatalf("%s: %s", script, out)
	}
	return out
}

// why is what ringfence says of the last refusal.
func (s *scene) why() string {
	s.t.Helper()
	cmd := exec.Command(stage.Ringfence, "why", "--last")
	cmd.Dir, cmd.Env = stage.Work, s.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return string(out)
}

// log is what the sessions of the scene recorded.
func (s *scene) log() string {
	var all strings.Builder
	filepath.WalkDir(filepath.Join(s.state, "ringfence/journal"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := os.ReadFile(path)
			all.Write(data)
		}
		return nil
	})
	return all.String()
}

// blobs counts what the store keeps.
func (s *scene) blobs() (n int) {
	filepath.WalkDir(filepath.Join(s.state, "ringfence/registry/blobs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return nil
	})
	return n
}

// server counts what it is asked for.
type server struct {
	*httptest.Server
	mu  sync.Mutex
	got []asked
}

type asked struct {
	path, authorization string
	sent                int64 // bytes of the answer
}

// counted counts what is written.
type counted struct {
	http.ResponseWriter
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	return n, err
}

// serve starts a server at an address of the loopback: others are other hosts.
func (s *scene) serve(addr string, h http.HandlerFunc) *server {
	s.t.Helper()
	l, err := net.Listen("tcp", addr+":0")
	if err != nil {
		s.t.Fatal(err)
	}
	v := &server{}
	v.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counted{ResponseWriter: w}
		path := r.URL.Path
		h(c, r)
		v.mu.Lock()
		v.got = append(v.got, asked{path, r.Header.Get("Authorization"), c.n})
		v.mu.Unlock()
	})}}
	v.Start()
	s.t.Cleanup(v.Close)
	return v
}

// asked are the paths that it was asked for, and forgotten then.
func (v *server) asked() (out []string) {
	for _, a := range v.all() {
		out = append(out, a.path)
	}
	return out
}

func (v *server) all() []asked {
	v.mu.Lock()
	defer v.mu.Unlock()
	got := v.got
	v.got = nil
	return got
}

func has(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}
