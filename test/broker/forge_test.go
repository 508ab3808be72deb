package broker

import (
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	forgeName   = "forge.test"
	forgeAddr   = "203.0.113.203"
	forgeToken  = "ghp_CANARYforgeFRIBXuDL7DxtpYlSXpfKtHF4v"
	attackToken = "ghp_ATTACKERtokenOfSomebodyElse012345678"

	ownRepo    = "alice/work"
	publicRepo = "bob/lib"
	secretRepo = "carol/safe"   // the token opens it, and it is not this session's
	dropRepo   = "mallory/drop" // the attacker's
)

// forge is git's own http-backend behind TLS, for who has a token, and an API.
type forge struct {
	*vendor
	dir string
	t   testing.TB
	api http.HandlerFunc
}

func (s *scene) forge() *forge {
	s.t.Helper()
	need(s.t, "git")
	f := &forge{dir: filepath.Join(s.State, "forge"), t: s.t}
	for _, repo := range []string{ownRepo, publicRepo, secretRepo, dropRepo} {
		f.create(repo)
	}
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Root: "/", Dir: f.dir, InheritEnv: []string{"PATH"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + f.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + f.dir}}
	f.vendor = s.vendor(forgeName, forgeAddr, func(w http.ResponseWriter, r *http.Request) {
		for _, repo := range []string{ownRepo, publicRepo, secretRepo, dropRepo} { // as forges do
			if rest, ok := strings.CutPrefix(r.URL.Path, "/"+repo+"/"); ok && (rest == "info/refs" || strings.HasPrefix(rest, "git-")) {
				r.URL.Path = "/" + repo + ".git/" + rest
			}
		}
		switch {
		case strings.HasPrefix(r.URL.Path, "/api/") && f.api != nil:
			f.api(w, r)
		case !strings.Contains(r.URL.Path, ".git/"):
			io.WriteString(w, "a page of the forge")
		case !f.opens(r):
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			backend.ServeHTTP(w, r)
		}
	})
	return f
}

// opens says who may do what.
func (f *forge) opens(r *http.Request) bool {
	push := strings.Contains(r.URL.RawQuery, "receive-pack") || strings.HasSuffix(r.URL.Path, "receive-pack")
	_, token, _ := r.BasicAuth()
	return token == forgeToken ||
		token == attackToken && strings.HasPrefix(r.URL.Path, "/"+dropRepo) ||
		!push && strings.HasPrefix(r.URL.Path, "/"+publicRepo)
}

func (f *forge) git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@a.test", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@a.test"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *forge) bare(repo string) string { return filepath.Join(f.dir, repo+".git") }

// create makes a repository with a commit.
func (f *forge) create(repo string) {
	f.t.Helper()
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	f.git(f.dir, "init", "-q", "--bare", "-b", "main", f.bare(repo))
	for _, kv := range []string{"uploadpack.allowFilter", "http.receivepack"} {
		f.git(f.bare(repo), "config", kv, "true")
	}
	seed := filepath.Join(f.dir, "seed", repo)
	f.git(f.dir, "init", "-q", "-b", "main", seed)
	if err := os.WriteFile(filepath.Join(seed, "README"), []byte(repo+"\n"), 0o644); err != nil {
		f.t.Fatal(err)
	}
	f.git(seed, "add", ".")
	f.git(seed, "commit", "-q", "-m", "first")
	f.git(seed, "push", "-q", f.bare(repo), "main")
}

// refs are what a repository at the forge has.
func (f *forge) refs(repo string) string {
	f.t.Helper()
	return f.git(f.bare(repo), "for-each-ref", "--format=%(refname) %(objectname)")
}

// checkout makes the workspace a clone of the session's own repository, as a person
// has it.
func (s *scene) checkout(f *forge) {
	s.t.Helper()
	f.git(s.Dir, "init", "-q", "-b", "main", ".")
	f.git(s.Dir, "remote", "add", "origin", "https://"+forgeName+"/"+ownRepo+".git")
	f.git(s.Dir, "fetch", "-q", f.bare(ownRepo), "main:refs/remotes/origin/main")
	f.git(s.Dir, "reset", "-q", "--hard", "origin/main")
}

// keepToken keeps the token for the forge in ringfence's own store.
func (s *scene) keepToken() {
	s.t.Helper()
	if r := s.fed(forgeToken+"\n", "secret", "set", "forge", "--use", "github", "--host", forgeName); r.Status != 0 {
		s.t.Fatalf("secret set: %s", r.show())
	}
}

// tokenInAddress has the token in the address of the remote, as who cloned with it.
func (s *scene) tokenInAddress() {
	s.t.Helper()
	cmd := exec.Command("git", "remote", "set-url", "origin", "https://x-access-token:"+forgeToken+"@"+forgeName+"/"+ownRepo+".git")
	cmd.Dir = s.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// standInGH puts a gh on the host's PATH that is logged in.
func (s *scene) standInGH() {
	s.t.Helper()
	token := s.write(filepath.Join(s.State, "gh-token"), forgeToken+"\n", 0o600)
	s.write(filepath.Join(s.State, "config/gh/hosts.yml"), forgeName+":\n    user: alice\n", 0o600)
	bin := filepath.Join(s.State, "bin")
	s.write(filepath.Join(bin, "gh"), "#!/bin/sh\n[ \"$*\" = \"auth token --hostname "+forgeName+"\" ] && exec cat "+token+"\nexit 1\n", 0o755)
	s.env = append(s.env, "PATH="+bin+":"+os.Getenv("PATH"))
}
