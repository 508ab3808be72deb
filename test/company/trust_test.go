package company

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

const fetchNode = `fetch(process.argv[1]).then(r => r.text()).then(console.log).catch(e => console.log("failed:", e.cause && e.cause.code))`

// fetches are clients that each ask another variable whom to believe.
var fetches = map[string]string{
	"curl":   "curl -sS -m20 URL",
	"node":   "node -e '" + fetchNode + "' URL",
	"python": `python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())' URL`,
}

// TestPrivateAuthority: an authority that any one variable of the launcher names is
// believed by every client inside; without it none does, and one in the workspace, or
// behind a link there, is not believed.
func TestPrivateAuthority(t *testing.T) {
	s := begin(t, "http", login)
	script := ""
	for _, line := range fetches {
		script += strings.ReplaceAll(line, "URL", "https://"+registry+"/") + "; "
	}
	play := func(env ...string) (int, string) {
		t.Helper()
		was := s.env
		s.env = append(was[:len(was):len(was)], env...)
		defer func() { s.env = was }()
		r := s.run(script, "--allow-host", registry)
		return strings.Count(r.out, "origin "+registry), r.out
	}
	for i, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"} {
		if !stage.Mine(i) {
			continue
		}
		want := len(fetches)
		if name == "SSL_CERT_FILE" {
			want-- // node heeds no other variable than its own, on the host neither
		}
		if n, out := play(name + "=" + s.ca); n != want {
			t.Errorf("by %s, %d of %d clients believe it:\n%s", name, n, want, out)
		}
	}
	if n, out := play(); n != 0 {
		t.Errorf("control: without a variable %d clients believe it:\n%s", n, out)
	}
	link := filepath.Join(s.Dir, "link.pem")
	if err := os.Symlink(s.ca, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{s.CA, link} {
		if n, out := play("NODE_EXTRA_CA_CERTS="+path, "SSL_CERT_FILE="+path); n != 0 || !strings.Contains(out, "an agent can write") {
			t.Errorf("%s, which the agent can write: %d clients believe it:\n%s", path, n, out)
		}
	}
}

// TestBrokered: where a host is brokered, clients believe the session's authority for it
// and the company's for others, and the broker believes the company's: it speaks with the
// forge through the proxy, by name.
func TestBrokered(t *testing.T) {
	s := begin(t, "http", login)
	known := "forge " + registry
	for _, args := range [][]string{{"secret", "set", "forge", "--use", "github", "--host", registry, "--from", "env:FORGE_TOKEN"}} {
		if r := s.command(stage.Ringfence, []string{"FORGE_TOKEN=" + world.Token}, args...); r.status != 0 {
			t.Fatalf("%s: %s", known, r.out)
		}
	}
	repo := repository(t, s)
	s.env = append(s.env, "FORGE_TOKEN="+world.Token)
	script := "git init -q . 2>/dev/null; git ls-remote https://" + registry + "/locked/" + repo + "; curl -sS -m20 https://" + wide + "/"
	if out := s.bare(nil, "git init -q . && git remote add origin https://"+registry+"/locked/"+repo); out.status != 0 {
		t.Fatal(out.out)
	}
	ca := "NODE_EXTRA_CA_CERTS=" + s.ca
	s.Forget()
	s.env = append(s.env, ca)
	r := s.run(script, "--allow-host", "*.wide.example.org")
	if !strings.Contains(r.out, "refs/heads/main") || !strings.Contains(r.out, "origin "+wide) {
		t.Errorf("the two authorities are not believed together:\n%s\nthe proxy was asked:\n%s", r.out, s.asked())
	}
	s.byName(proxyAddr)
	s.env = s.env[:len(s.env)-1]
	if r := s.run(script, "--allow-host", "*.wide.example.org"); strings.Contains(r.out, "refs/heads/main") || !strings.Contains(r.out, "certificate") {
		t.Errorf("control: without the company's authority:\n%s", r.out)
	}
}

// repository makes one on the internet, and returns its name.
func repository(t *testing.T, s *scene) string {
	t.Helper()
	dir, err := os.MkdirTemp(world.Web, "company-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := s.bare([]string{"D=" + dir}, `git init -q -b main "$D/work" && cd "$D/work" && echo text of the repository > README && git add . && git -c user.name=a -c user.email=a@a.test commit -qm one && git clone -q --bare "$D/work" "$D/repo.git"`)
	if r.status != 0 {
		t.Fatal(r.out)
	}
	return filepath.Base(dir) + "/repo.git"
}
