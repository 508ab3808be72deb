package company

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m, "./filter") }

// The names that only the proxy knows, and what it is reached by.
const (
	registry = "registry.example.org"
	wide     = "a.wide.example.org" // by a rule with a star
	inside   = "inside.example.org" // has an internal address, at the proxy
	blocked  = "blocked.example.org"

	proxyAddr = "203.0.113.30:3128"
	socksAddr = "203.0.113.31:1080"
	login     = "robot:CANARYproxyWord7"
	password  = "CANARYproxyWord7"
)

var known = []string{registry + "=203.0.113.90", "*.wide.example.org=203.0.113.91", inside + "=10.0.0.1", "localhost=127.0.0.1",
	world.Public + "=203.0.113.22", "metadata.google.internal=169.254.169.254"}

// scene is one such network.
type scene struct {
	*world.World
	t   *testing.T
	ca  string   // certificate of the private authority, where no agent can write
	log string   // of the proxy
	env []string // of the launcher, besides the world's
}

// begin makes one, with a proxy that speaks http or socks.
func begin(t *testing.T, kind, who string) *scene {
	t.Helper()
	s := &scene{World: world.New(t), t: t}
	cert, err := os.ReadFile(s.CA)
	if err != nil {
		t.Fatal(err)
	}
	s.ca = filepath.Join(s.State, "company.pem")
	if err := os.WriteFile(s.ca, cert, 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(world.Net, "filter-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s.log = filepath.Join(dir, "log")
	at, url := proxyAddr, "HTTPS_PROXY=http://"
	if kind == "socks" {
		at, url = socksAddr, "ALL_PROXY=socks5h://"
	}
	s.Serve(at, append([]string{world.Program("filter"), kind, at, s.log, who}, known...)...)
	if who != "-" {
		url += who + "@"
	}
	s.env = []string{url + at}
	return s
}

// trusting has the launcher's clients believe the private authority.
func (s *scene) trusting() *scene {
	s.env = append(s.env, "NODE_EXTRA_CA_CERTS="+s.ca, "REQUESTS_CA_BUNDLE="+s.ca, "GIT_SSL_CAINFO="+s.ca, "CURL_CA_BUNDLE="+s.ca, "SSL_CERT_FILE="+s.ca)
	return s
}

// result is what became of a command.
type result struct {
	status int
	out    string
}

func (s *scene) command(name string, env []string, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = s.Dir, append(s.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		s.t.Fatalf("%q: %v, %v\n%s", cmd.Args, err, ctx.Err(), &out)
	}
	return result{cmd.ProcessState.ExitCode(), out.String()}
}

// run plays a script inside, through the proxy of the environment.
func (s *scene) run(script string, flags ...string) result {
	s.t.Helper()
	args := slices.Concat([]string{"run", "--verbose", "--proxy", "env"}, flags, []string{"--", "sh", "-c", script})
	return s.command(stage.Ringfence, s.env, args...)
}

// bare plays it on the host.
func (s *scene) bare(env []string, script string) result {
	s.t.Helper()
	return s.command("sh", env, "-c", script)
}

// asked is what the proxy was asked, a line each.
func (s *scene) asked() string {
	s.t.Helper()
	b, err := os.ReadFile(s.log)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(b)
}

// records are those of all sessions.
func (s *scene) denied(rule string) (out []journal.Record) {
	for _, r := range s.Journal() {
		if r.Verdict == journal.Deny && r.Rule == rule && r.Kind != journal.Work {
			out = append(out, r)
		}
	}
	return out
}

// byName: nothing was looked up on the host, and nothing dialled but the proxy.
func (s *scene) byName(at string) {
	s.t.Helper()
	for _, q := range s.Queries() {
		if strings.HasSuffix(q.Name, "example.org") {
			s.t.Errorf("the host looked up %s", q.Name)
		}
	}
	for _, p := range s.Dialled() {
		if got := fmt.Sprintf("%s:%d", p.Addr, p.Port); got != at {
			s.t.Errorf("dialled past the proxy: %s", got)
		}
	}
}
