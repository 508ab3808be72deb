package agents

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait; nothing takes a tenth of it unless it hangs.
const patience = 2 * time.Minute

// ordinaryID is who root is in the half of the tests for an ordinary user. No
// account has it: ringfence does without.
const ordinaryID = 1712

// user is who runs ringfence.
type user struct {
	name     string
	uid, gid int
}

// users are those that this run can be: root can be both.
func users() []user {
	if uid := os.Getuid(); uid != 0 {
		return []user{{"user", uid, os.Getgid()}}
	}
	return []user{{"root", 0, 0}, {"user", ordinaryID, ordinaryID}}
}

// person is a user with a HOME that has a past: settings, credentials and other
// conversations of an agent, all of which hold a canary where they are secret.
type person struct {
	kit          *kit
	user         user
	agent        agent
	home         string
	canary, mark string
}

func (k *kit) newPerson(t *testing.T, a agent, u user) *person {
	p := &person{kit: k, user: u, agent: a, home: filepath.Join(tempDir(t), "home"),
		canary: "rf-canary-" + rand.Text(), mark: "rf-mark-" + rand.Text()}
	for _, files := range []map[string]string{a.hidden, a.masked, a.shown, a.carried, hiddenFromAll} {
		for path, content := range files {
			p.put(t, filepath.Join(p.home, path), content)
		}
	}
	p.put(t, filepath.Join(p.home, a.told), "Instructions: {MARK}\n")
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
	content = strings.NewReplacer("{CANARY}", p.canary, "{MARK}", p.mark, "{HOME}", p.home).Replace(content)
	if err := p.mkdir(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, p.user.uid, p.user.gid); err != nil {
		t.Fatal(err)
	}
}

// mkdir makes a directory and those above it as far as they are the person's.
func (p *person) mkdir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if dir != p.home {
		if err := p.mkdir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chown(dir, p.user.uid, p.user.gid)
}

// project makes a directory to work in.
func (p *person) project(t *testing.T, name string) string {
	dir := filepath.Join(p.home, "src", name)
	if err := p.mkdir(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// environ is what the person's shell has. The secrets must stay outside; that
// opencode fetches no list of models is passed on and only saves time.
func (p *person) environ() []string {
	env := []string{"HOME=" + p.home, "USER=" + p.user.name, "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/bash",
		"PATH=" + filepath.Join(p.home, ".local/bin") + ":" + p.kit.agents + "/.bin:" + systemPath, "OPENCODE_DISABLE_MODELS_FETCH=1"}
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "UNHEARD_OF"} {
		env = append(env, name+"="+p.canary)
	}
	return env
}

// result is what a command gave.
type result struct {
	status         int
	stdout, stderr string
}

// ringfence runs it in a directory and waits for its end.
func (p *person) ringfence(t *testing.T, dir string, args ...string) result {
	return p.run(t, dir, filepath.Join(p.kit.bin, "ringfence"), args...)
}

func (p *person) run(t *testing.T, dir, name string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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
	cmd.WaitDelay = time.Second // for what a killed one left behind with our pipe
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.user.uid), Gid: uint32(p.user.gid)}}
	}
	return cmd
}
