package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// large makes a tree that a later launch on this machine would not look through at first.
func (w *user) large() {
	for i := range 60 {
		for j := range 100 {
			w.put(fmt.Sprintf("a/%02d/%02d", i, j), "")
		}
	}
}

// loginIn makes a repository whose settings hold a login.
func (w *user) loginIn(at, login string) string {
	w.put(at+".git/HEAD", "ref: refs/heads/main\n")
	w.put(at+".git/refs/x", "")
	w.put(at+".git/objects/x", "")
	return w.put(at+".git/config", "[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = https://me:ghp_"+login+"aaaaaaaaaaaaaaaaaaaaaaaaaa@github.com/a/b\n")
}

func (w *user) policy(text string) {
	w.put(filepath.Join(w.home, ".config/ringfence/policy.toml"), text)
}

func absentThere(t *testing.T, secrets ...string) {
	t.Helper()
	for name, b := range searchDisk(t) {
		for _, x := range secrets {
			if strings.Contains(string(b), x) {
				t.Errorf("%s is there: %s", x, name)
			}
		}
	}
}

// What is masked stays here whatever group it has.
func TestOtherGroupStaysHere(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives a file to a group it is not in")
	}
	w := newWorld(t)
	for _, p := range []string{w.put("masked/by-flag", "MASKED-BY-FLAG-7f3a91\n"), w.loginIn("", "GITLOGIN7f3a91")} {
		if err := os.Chown(p, -1, 4243); err != nil {
			t.Fatal(err)
		}
	}
	w.flags = []string{"--mask", "masked/by-flag"}
	s := w.begin("box", "group", `echo up; read x`)
	absentThere(t, "MASKED-BY-FLAG-7f3a91", "GITLOGIN7f3a91")
	s.stdin.Close()
	s.end(t)
}

// What is new in a large tree is masked before the tree is sent, in a later session too.
func TestNewSecretsOfLargeTree(t *testing.T) {
	w := newWorld(t)
	w.large()
	w.put("zz/zz/zz/readme", "x")
	w.on("box", "true")
	w.put("zz/zz/zz/.env", "K=sk-live-LATER7f3a91aaaaaaaaaaaaa\n")
	w.loginIn("zz/zz/sub/", "NESTED7f3a91")
	if r := w.on("box", `cat zz/zz/zz/.env zz/zz/sub/.git/config`); r.status != 0 || strings.Contains(r.out, "7f3a91") {
		t.Errorf("status %d, %q", r.status, r.out)
	}
	absentThere(t, "LATER7f3a91", "NESTED7f3a91")
}

// What tools fetch and build is looked through as well: on this machine it is passed over.
func TestFetchedSecretsStayHere(t *testing.T) {
	w := newWorld(t)
	w.put("node_modules/a/lib/index.js", "everybody-may-read-7f3a91\n")
	w.put("node_modules/a/lib/.env", "K=sk-live-FETCHED7f3a91aaaaaaaaaaaaa\n")
	w.put("vendor/x/y/z/prod.env", "K=sk-live-VENDORED7f3a91aaaaaaaaaaaaa\n")
	w.loginIn("node_modules/b/src/", "FETCHEDLOGIN7f3a91")
	r := w.on("box", `cat node_modules/a/lib/index.js node_modules/a/lib/.env vendor/x/y/z/prod.env node_modules/b/src/.git/config`)
	if r.status != 0 || !strings.Contains(r.out, "everybody-may-read-7f3a91") || !strings.Contains(r.out, "forge.test") && !strings.Contains(r.out, "github.com") {
		t.Errorf("status %d, %q", r.status, r.out)
	}
	absentThere(t, "FETCHED7f3a91", "VENDORED7f3a91", "FETCHEDLOGIN7f3a91")
}

// No policy sends a credential.
func TestPolicySendsNoCredential(t *testing.T) {
	w := newWorld(t)
	w.put(".env", "K=sk-live-REVEAL7f3a91aaaaaaaa\n")
	w.extra = []string{"GITHUB_TOKEN=ghp_REALTOKEN7f3a91aaaaaaaaaaaaaaaaaaaaaa"}
	for _, text := range []string{"[env]\npass = [\"GITHUB_TOKEN\"]\nforce = [\"GITHUB_TOKEN\"]\n", "[workspace]\nreveal = [\".env\"]\n"} {
		w.policy(text)
		if r := w.on("box", "env; cat .env"); r.status != 125 || !strings.Contains(r.errors, "no credential is sent") {
			t.Errorf("%s: status %d, %q", text, r.status, r.out)
		}
	}
	absentThere(t, "REALTOKEN7f3a91", "REVEAL7f3a91")
}

// A project does not send itself to the machine that its user has, and that machine is not
// taken for a higher rung.
func TestProjectDoesNotChoose(t *testing.T) {
	w := newWorld(t)
	w.policy("[rung]\nssh = \"box\"\n")
	w.put(".ringfence.toml", "[rung]\nuse = \"ssh\"\n")
	for _, trusted := range []bool{false, true} {
		if trusted {
			w.ringfence("trust", "--yes")
		}
		r := w.ringfence("run", "--", "sh", "-c", "echo ran")
		if r.status != 0 || strings.Contains(r.errors, "the session runs on another machine") {
			t.Errorf("a project sends itself away: status %d, %q", r.status, r.errors)
		}
		if !strings.Contains(r.errors, "no project chooses another machine") || strings.Contains(r.errors, "ringfence trust") || strings.Contains(r.errors, "not trusted") {
			t.Errorf("trusted %v: that it is ignored, and why, is not said: %q", trusted, r.errors)
		}
	}
	if err := os.Remove(filepath.Join(w.project, ".ringfence.toml")); err != nil {
		t.Fatal(err)
	}
	w.policy("[require]\nrung = [\"gvisor\"]\n")
	if r := w.on("box", "echo ran"); r.status == 0 || r.out != "" {
		t.Error("another machine is taken for gvisor")
	}
}
