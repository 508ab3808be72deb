package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/broker/client/call"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// scene is a world with a user who has credentials.
type scene struct {
	*world.World
	t      testing.TB
	env    []string // of the launcher, besides the world's
	client string   // our program, in the workspace
}

func begin(t testing.TB) *scene {
	t.Helper()
	s := &scene{World: world.New(t), t: t}
	theirs, err := os.ReadFile(s.CA)
	if err != nil {
		t.Fatal(err)
	}
	bundle := s.write(filepath.Join(s.State, "bundle.pem"), string(theirs)+string(authority().pem), 0o644)
	s.env = []string{"SSL_CERT_FILE=" + bundle}
	s.client = s.Bring("client")
	// It stands in: it runs what it is told, behind the option that names MCP servers.
	s.home(".local/bin/claude", "#!/bin/sh\ncase $1 in --mcp-config=/*) shift ;; esac\nexec \"$@\"\n", 0o755)
	return s
}

// need fails a test that misses a program.
func need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("this test needs %s: run `make tools`", tool)
		}
	}
}

func (s *scene) write(path, text string, mode os.FileMode) string {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// home writes a file of the user's HOME, which all tests have in common, and takes it
// away again.
func (s *scene) home(name, text string, mode os.FileMode) string {
	s.t.Helper()
	path := s.write(filepath.Join(stage.Home, name), text, mode)
	s.t.Cleanup(func() { os.Remove(path) })
	return path
}

// policy writes the user's own.
func (s *scene) policy(text string) {
	s.t.Helper()
	s.write(filepath.Join(s.State, "config/ringfence/policy.toml"), text, 0o600)
}

// vendor starts a server of TLS at port 443 of a name.
func (s *scene) vendor(name, addr string, answer http.HandlerFunc) *vendor {
	s.t.Helper()
	s.Answer(name, []string{addr})
	return serve(s.t, listen(s.t, addr+":443"), true, answer)
}

// local starts a server in the clear on the host's loopback and says where.
func (s *scene) local(answer http.HandlerFunc) (*vendor, string) {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	return serve(s.t, l, false, answer), "http://" + l.Addr().String()
}

// result is what became of a session.
type result struct {
	world.Result
	took time.Duration
}

// ringfence runs it with arguments to its end.
func (s *scene) ringfence(args ...string) result { return s.fed("", args...) }

// fed is the same with something to read.
func (s *scene) fed(stdin string, args ...string) result {
	s.t.Helper()
	known := map[string]bool{}
	for _, r := range s.Journal() {
		known[r.Session] = true
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := s.command(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		s.t.Fatalf("%q: %v, %v\n%s%s", cmd.Args, err, ctx.Err(), &stdout, &stderr)
	}
	r := result{world.Result{Status: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}, time.Since(began)}
	for _, rec := range s.Journal() {
		if !known[rec.Session] {
			r.Journal = append(r.Journal, rec)
		}
	}
	return r
}

// command prepares ringfence.
func (s *scene) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := s.Command(ctx, args...)
	cmd.Env = append(cmd.Env, s.env...)
	return cmd
}

// claude runs a command where Claude Code would run.
func (s *scene) claude(argv ...string) result {
	s.t.Helper()
	return s.ringfence(append([]string{"claude", "--"}, argv...)...)
}

// host runs a program on the host: the control.
func (s *scene) host(argv ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.Dir, append(s.Environ(), s.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		s.t.Fatalf("%q: %v, %v\n%s%s", cmd.Args, err, ctx.Err(), &stdout, &stderr)
	}
	return result{Result: world.Result{Status: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}}
}

// calls writes the list of requests that our program is to make, and the command.
func (s *scene) calls(list ...call.Call) []string {
	s.t.Helper()
	data, err := json.Marshal(list)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Put("calls.json", data, 0o644)
	return []string{s.client, "calls", "calls.json", "answers.json"}
}

// answers reads what became of them, by name.
func (s *scene) answers(r result) map[string]call.Answer {
	s.t.Helper()
	path := s.Wrote("answers.json")
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatalf("no answers: %v\n%s", err, r.show())
	}
	os.Remove(path)
	var list []call.Answer
	if err := json.Unmarshal(data, &list); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]call.Answer{}
	for _, a := range list {
		out[a.Name] = a
	}
	return out
}

// asked makes requests where Claude Code would run, and returns the answers.
func (s *scene) asked(list ...call.Call) (map[string]call.Answer, result) {
	s.t.Helper()
	r := s.claude(s.calls(list...)...)
	return s.answers(r), r
}

func (r result) show() string {
	var lines []byte
	for _, rec := range r.Journal {
		lines = append(rec.AppendJSON(lines), '\n')
	}
	cut := func(s string) string { return s[:min(len(s), 6000)] }
	return "status " + itoa(r.Status) + "\n--- stdout\n" + cut(r.Stdout) + "\n--- stderr\n" + cut(r.Stderr) + "\n--- journal\n" + cut(string(lines))
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// recorded tells whether the journal has a record that fits.
func (r result) recorded(fits func(journal.Record) bool) bool {
	return slices.ContainsFunc(r.Journal, fits)
}

// used tells whether the use of a credential was recorded, with this verdict.
func (r result) used(secret, verdict string) bool {
	return r.recorded(func(j journal.Record) bool {
		return j.Kind == journal.Broker && j.Event == journal.Use && j.Secret == secret && j.Verdict == verdict
	})
}

// silent fails if a canary stands anywhere that a session shows or leaves.
func (s *scene) silent(r result, canaries ...string) {
	s.t.Helper()
	lines, _ := json.Marshal(r.Journal)
	for _, c := range canaries {
		for name, text := range map[string]string{"stdout": r.Stdout, "stderr": r.Stderr, "journal": string(lines)} {
			if strings.Contains(text, c) {
				s.t.Errorf("%s has the real credential:\n%s", name, r.show())
			}
		}
	}
}
