package agents

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// person is a user with a HOME that has a past: settings, credentials and other
// conversations of an agent, all of which hold a canary where they are secret.
type person struct {
	agent        agent
	agents       string // node_modules
	home         string
	canary, mark string
	key          string   // the real one, for the model
	env          []string // beside what everybody has
	ordinary     bool     // root is to be somebody else
}

// ordinaryID is who root is then. No account has it.
const ordinaryID = 1712

// demote makes a person of root's an ordinary one, with all that he has.
func (p *person) demote(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	p.ordinary = true
	top := filepath.Dir(p.home)
	err := filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, ordinaryID, ordinaryID))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newPerson(t *testing.T, a agent) *person {
	p := &person{agent: a, agents: findAgents(t), home: filepath.Join(tempDir(t), "home"),
		canary: "rf-canary-" + rand.Text(), mark: "rf-mark-" + rand.Text(), key: "rf-real-" + rand.Text()}
	for _, files := range []map[string]string{a.hidden, a.masked, a.shown, a.carried, hiddenFromAll} {
		for path, content := range files {
			p.put(t, filepath.Join(p.home, path), content)
		}
	}
	p.put(t, filepath.Join(p.home, a.told), "Instructions: {MARK}\n")
	for _, name := range []string{"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "UNHEARD_OF"} {
		p.env = append(p.env, name+"="+p.canary)
	}
	return p
}

// hiddenFromAll is what no agent may see.
var hiddenFromAll = map[string]string{
	".ssh/id_ed25519":      "{CANARY}\n",
	".aws/credentials":     "[default]\naws_secret_access_key = {CANARY}\n",
	".netrc":               "machine example.invalid password {CANARY}\n",
	".config/gh/hosts.yml": "oauth_token: {CANARY}\n",
	".bash_history":        "echo {CANARY}\n",
}

// put writes a file of the person's.
func (p *person) put(t *testing.T, path, content string) {
	t.Helper()
	content = strings.NewReplacer("{CANARY}", p.canary, "{MARK}", p.mark, "{HOME}", p.home, "{KEY}", p.key).Replace(content)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// project makes a directory to work in.
func (p *person) project(t *testing.T, name string) string {
	dir := filepath.Join(p.home, "src", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// hire lets a model listen on the loopback of the host, tells the launcher of it, and
// returns its URL.
func (p *person) hire(t *testing.T, m *model.Model) string {
	s := httptest.NewServer(m)
	t.Cleanup(func() {
		s.CloseClientConnections() // an agent may be in the middle of a request
		s.Close()
		for _, q := range m.Requests() {
			if t.Failed() {
				t.Logf("%s: %s %s, turn %d, %d bytes", q.At.Format("05.000"), q.Method, q.Path, q.Turn, len(q.Body))
			}
		}
	})
	p.env = append(p.env, p.agent.base+"="+s.URL+p.agent.tail)
	return s.URL
}

// pay gives the launcher the key.
func (p *person) pay() { p.env = append(p.env, p.agent.key+"="+p.key) }

// environ is what the person's shell has. The secrets must stay outside; that
// opencode fetches no list of models is passed on and only saves time.
func (p *person) environ() []string {
	return append([]string{"HOME=" + p.home, "USER=somebody", "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/bash",
		"PATH=" + filepath.Join(p.home, ".local/bin") + ":" + p.agents + "/.bin:" + systemPath, "OPENCODE_DISABLE_MODELS_FETCH=1"}, p.env...)
}

// result is what a command gave.
type result struct {
	status         int
	stdout, stderr string
}

// ringfence runs it in a directory and waits for its end.
func (p *person) ringfence(t *testing.T, dir string, args ...string) result {
	t.Helper()
	return p.run(t, dir, stage.Ringfence, args...)
}

func (p *person) run(t *testing.T, dir, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := p.command(ctx, dir, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%s %q: %v, %v\n%s%s", name, args, err, ctx.Err(), &stdout, &stderr)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// command prepares one that is run as the person.
func (p *person) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, p.environ()
	if p.ordinary {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryID, Gid: ordinaryID}}
	}
	cmd.WaitDelay = time.Second // for what a killed one left behind with our pipe
	return cmd
}
