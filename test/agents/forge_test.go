package agents

import (
	"crypto/rand"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// forge is two repositories on the internet. Whoever can reach them can push: what
// keeps an agent from it is the broker.
type forge struct {
	name  string // begins those of its repositories
	token string // what the host has for it
}

// The names of the repositories: that of the project, and one that is not.
const (
	own   = "one"
	other = "two"
)

// newForge makes the project a repository with a remote, and tells ringfence which
// token of the launcher's is for the forge.
func newForge(t *testing.T, p *person, project, certificate string) *forge {
	f := &forge{name: rand.Text(), token: "rf-real-" + rand.Text()}
	git(t, "init", "--quiet", "--initial-branch=main", project)
	git(t, "-C", project, "-c", "user.name=a", "-c", "user.email=a@a.test", "commit", "--quiet", "--allow-empty", "--message=begin")
	git(t, "-C", project, "remote", "add", "origin", f.url(own))
	for _, name := range []string{own, other} {
		git(t, "init", "--quiet", "--bare", "--initial-branch=main", f.path(name))
		git(t, "-C", f.path(name), "config", "http.receivepack", "true")
		git(t, "-C", project, "push", "--quiet", f.path(name), "main")
	}
	ca := filepath.Join(p.home, "ca.pem")
	p.put(t, ca, certificate)
	p.env = append(p.env, "FORGE_TOKEN="+f.token, "SSL_CERT_FILE="+ca, "GIT_SSL_CAINFO="+ca, "GIT_TERMINAL_PROMPT=0")
	if r := p.run(t, p.home, stage.Ringfence, "secret", "set", "forge", "--use", "github", "--host", world.Git, "--from", "env:FORGE_TOKEN"); r.status != 0 {
		t.Fatalf("secret set: %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	return f
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (f *forge) path(name string) string { return filepath.Join(world.Web, f.name+"-"+name+".git") }

// url is where the internet serves a repository.
func (f *forge) url(name string) string {
	return "https://" + world.Git + "/git/" + filepath.Base(f.path(name))
}

// has reports whether a commit of this message was pushed to the repository of a URL.
func (f *forge) has(t *testing.T, url, message string) bool {
	return strings.Contains(git(t, "-C", filepath.Join(world.Web, filepath.Base(url)), "log", "--all", "--format=%s"), message)
}
