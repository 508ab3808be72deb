package broker

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
)

const as = "git -c user.name=A -c user.email=a@a.test "

// The way of a working day: clone, fetch, a branch that is pushed. By each source of
// the token.
func TestGitWorks(t *testing.T) {
	for name, source := range map[string]func(*scene){"store": (*scene).keepToken, "gh": (*scene).standInGH, "address": (*scene).tokenInAddress} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			f := s.forge()
			s.checkout(f)
			source(s)
			f.git(f.dir+"/seed/"+ownRepo, "commit", "-q", "--allow-empty", "-m", "second")
			f.git(f.dir+"/seed/"+ownRepo, "push", "-q", f.bare(ownRepo), "main")
			if name == "address" { // written by whoever made the clone: it opens no host
				if r := s.ringfence("run", "--", "git", "fetch", "-q", "origin"); r.Status == 0 || len(f.requests()) > 0 {
					t.Fatal(r.show())
				}
				s.policy("[network]\nallow = [\"" + forgeName + "\"]\n")
			}
			r := s.ringfence("run", "--", "sh", "-exc", `
				git clone -q https://`+forgeName+`/`+ownRepo+`.git $HOME/by-https
				git clone -q git@`+forgeName+`:`+ownRepo+`.git $HOME/by-ssh
				git clone -q ssh://git@`+forgeName+`/`+ownRepo+` $HOME/by-ssh-url
				git clone -q https://`+forgeName+`/`+publicRepo+` $HOME/public
				git fetch -q origin
				git log --format=%s origin/main | grep -x second
				git checkout -q -b topic/one origin/main
				echo change > change && git add change && `+as+`commit -q -m change
				git push -q origin topic/one
				git rev-parse HEAD > tip`)
			if r.Status != 0 {
				t.Fatal(r.show())
			}
			if !strings.Contains(f.refs(ownRepo), "refs/heads/topic/one "+strings.TrimSpace(s.read("tip"))) {
				t.Errorf("the forge has %s\n%s", f.refs(ownRepo), r.show())
			}
			for _, q := range f.requests() {
				_, token, carried := basicOf(q)
				if strings.HasPrefix(q.Path, "/"+publicRepo) == carried || carried && token != forgeToken {
					t.Errorf("%s %s was sent with a token: %v", q.Method, q.Path, carried)
				}
			}
			if !r.recorded(func(j journal.Record) bool {
				return j.Kind == journal.Broker && j.Via == "git" && j.Protocol == "git-receive-pack" && j.Verdict == journal.Allow && strings.Contains(j.Reason, "refs/heads/topic/one")
			}) {
				t.Errorf("the push is not in the journal:\n%s", r.show())
			}
			s.silent(r, forgeToken)
		})
	}
}

// refusals are commands that are refused, and the switch that opens each.
var refusals = []struct{ name, opens, command string }{
	{"default branch", "push-default", "git push origin HEAD:main"},
	{"symbolic branch", "push-default", as + "commit -q --allow-empty -m alias && git push origin HEAD:alias"},
	{"force", "force", "git push -f origin old:topic"},
	{"lease", "force", "git push --force-with-lease=topic:$(git ls-remote origin refs/heads/topic | cut -f1) origin origin/main:refs/heads/topic"},
	{"delete", "delete", "git push origin :topic"},
	{"tag", "tags", "git tag v1 && git push origin v1"},
	{"annotated tag", "tags", as + "tag -m x v2 && git push origin v2"},
	{"workflow", "workflows", "git push origin flow:flow"},
	{"other repository", "other-repos", "git push https://" + forgeName + "/" + secretRepo + ".git HEAD:refs/heads/x"},
	{"other repository, read", "other-repos", "git ls-remote https://" + forgeName + "/" + secretRepo + ".git"},
	{"several, one of them bad", "push-default", "git push origin HEAD:fine HEAD:main"},
	{"other kinds of refs", "", "git push origin HEAD:refs/pull/1/head"},
	{"notes", "", "git push origin HEAD:refs/notes/x"},
}

// branches is what the commands of refusals speak of.
const branches = `
		git fetch -q origin && git checkout -q -b work origin/topic && git branch -q old origin/main
		git checkout -q old && ` + as + `commit -q --allow-empty -m other && git checkout -q work && ` + as + `commit -q --allow-empty -m more
		git checkout -q -b flow && mkdir -p .github/workflows && echo 'on: push' > .github/workflows/x.yml && git add .github && ` + as + `commit -q -m flow && git checkout -q work`

// What is refused, and git says why. Beside each stands the switch that opens it: with
// it the same command succeeds, so that it is the rule that refused and nothing else.
// Both users are refused everything, and share the switches.
func TestGitRefusals(t *testing.T) {
	for i, open := range []string{"", "push-default", "force", "delete", "tags", "workflows", "other-repos"} {
		if open != "" && !stage.Mine(i) {
			continue
		}
		t.Run("open "+open, func(t *testing.T) {
			s := begin(t)
			f := s.forge()
			s.checkout(f)
			s.keepToken()
			seed := f.dir + "/seed/" + ownRepo
			f.git(seed, "checkout", "-q", "-b", "topic")
			f.git(seed, "commit", "-q", "--allow-empty", "-m", "topic")
			f.git(seed, "push", "-q", f.bare(ownRepo), "topic")
			f.git(f.bare(ownRepo), "symbolic-ref", "refs/heads/alias", "refs/heads/main")
			if open != "" {
				s.policy("[broker]\ngit = [\"" + open + "\"]\n")
			}
			h := s.hold("run", "--", "sh")
			if out, ok := h.try("set -e; " + branches); !ok {
				t.Fatal(out)
			}
			for _, row := range refusals {
				if open != "" && row.opens != open {
					continue
				}
				before := f.refs(ownRepo) + f.refs(secretRepo)
				out, ok := h.try(row.command)
				changed := before != f.refs(ownRepo)+f.refs(secretRepo)
				if open != "" {
					if !ok || !changed && row.name != "other repository, read" {
						t.Errorf("%s: it does not open: %s", row.name, out)
					}
					continue
				}
				if ok || changed {
					t.Errorf("%s: it passed: %s", row.name, out)
				}
				if !strings.Contains(out, "ringfence") {
					t.Errorf("%s: git does not say why:\n%s", row.name, out)
				}
			}
			if open != "" {
				return
			}
			for _, q := range f.requests() {
				if _, _, carried := basicOf(q); carried && !strings.HasPrefix(q.Path, "/"+ownRepo) {
					t.Errorf("the token was used for %s", q.Path)
				}
			}
			h.end()
			refused := 0
			for _, j := range s.Journal() {
				if j.Kind == journal.Broker && j.Via == "git" && j.Verdict == journal.Deny {
					refused++
				}
			}
			if refused < len(refusals) {
				t.Errorf("%d of %d refusals are in the journal", refused, len(refusals))
			}
		})
	}
}

// try runs a line of shell inside and tells what it printed and whether it succeeded.
func (h *held) try(line string) (out string, ok bool) {
	h.t.Helper()
	out = h.say("( " + line + "\n) 2>&1; s=$?; echo; echo status $s")
	i := strings.LastIndex(out, "status ")
	return strings.TrimSpace(out[:i]), out[i:] == "status 0"
}

// Whoever has a token for the same forge cannot use it from inside to carry something
// away. On the host it works. The users share the ways.
func TestGitForeignToken(t *testing.T) {
	s := begin(t)
	f := s.forge()
	s.checkout(f)
	s.keepToken()
	at := "https://mallory:" + attackToken + "@" + forgeName + "/" + dropRepo + ".git"
	push := func(how, url string) []string {
		return []string{"sh", "-c", "git -c http.sslCAInfo=${REQUESTS_CA_BUNDLE:-" + s.State + "/bundle.pem} " + how + " push " + url + " HEAD:refs/heads/stolen"}
	}
	plain := "https://" + forgeName + "/" + dropRepo + ".git"
	header := `-c http.extraHeader="Authorization: Basic $(printf mallory:` + attackToken + ` | base64 -w0)"`
	s.Answer("alias.test", []string{forgeAddr})
	before := f.refs(dropRepo)
	ways := map[string][]string{
		"in the address": push("", at),
		"in a header":    push(header, plain),
		"by a helper":    push(`-c credential.helper='!echo username=mallory; echo password=`+attackToken+` #'`, plain),
		"by its address": push("-c http.curloptResolve="+forgeName+":443:"+forgeAddr, at),
		"by curl":        {"curl", "-sS", "-u", "mallory:" + attackToken, plain + "/info/refs?service=git-receive-pack"},
		"api":            {"curl", "-sS", "-H", "Authorization: token " + attackToken, "-d", "{}", "https://" + forgeName + "/api/v3/gists"},
		"by the proxy":   push("-c http.proxy=http://127.0.0.1:808", at),
		"by SOCKS":       push("-c http.proxy=socks5h://127.0.0.1:808", at),
		"in the clear":   {"curl", "-sS", "-u", "mallory:" + attackToken, "http://" + forgeName + "/" + dropRepo + ".git/info/refs?service=git-receive-pack"},
		"under a name":   {"curl", "-sSk", "--connect-to", forgeName + ":443:alias.test:443", "-u", "mallory:" + attackToken, plain + "/info/refs?service=git-receive-pack"},
		"a form":         {"curl", "-sS", "-d", "x", "https://" + forgeName + "/upload?token=" + attackToken},
	}
	for i, name := range slices.Sorted(maps.Keys(ways)) {
		if !stage.Mine(i) {
			continue
		}
		r := s.ringfence(append([]string{"run", "--allow-host", "alias.test", "--"}, ways[name]...)...)
		denied := r.recorded(func(j journal.Record) bool { return j.Verdict == journal.Deny })
		if !denied || r.Status == 0 && !strings.Contains(r.Stdout+r.Stderr, "ringfence") || strings.Contains(r.Stdout, "a page of the forge") {
			t.Errorf("%s: no refusal: %s", name, r.show())
		}
		if f.holds(attackToken) || strings.Contains(strings.Join(tokens(f), " "), attackToken) {
			t.Errorf("%s: the forge got the token", name)
		}
		if f.refs(dropRepo) != before {
			t.Errorf("%s: the forge has %s", name, f.refs(dropRepo))
		}
		s.silent(r, forgeToken)
	}
	if r := s.host(push("", at)...); r.Status != 0 || f.refs(dropRepo) == before {
		t.Errorf("control: %s", r.show())
	}
}

// A remote that an agent writes into the repository's config is not the next session's
// own.
func TestGitPlantedRemote(t *testing.T) {
	s := begin(t)
	f := s.forge()
	s.checkout(f)
	s.keepToken()
	r := s.ringfence("run", "--", "sh", "-c", "git fetch -q origin && git remote add more https://"+forgeName+"/"+secretRepo+".git && git remote set-url --push origin https://"+forgeName+"/"+dropRepo+".git && git config -l --local")
	if r.Status != 0 || !strings.Contains(r.Stdout, secretRepo) {
		t.Fatalf("the agent cannot plant it, which is a different world: %s", r.show())
	}
	// Another address for what is known waits for a person, who here does not look.
	if r := s.ringfence("apply", "--yes"); r.Status != 0 {
		t.Fatal(r.show())
	}
	f.forget()
	r = s.ringfence("run", "--verbose", "--", "sh", "-c", "git ls-remote more; git push origin HEAD:refs/heads/x; git ls-remote origin")
	for _, q := range f.requests() {
		if _, _, carried := basicOf(q); carried && !strings.HasPrefix(q.Path, "/"+ownRepo) {
			t.Errorf("the token was used for %s\n%s", q.Path, r.show())
		}
	}
	if f.refs(dropRepo) != strings.ReplaceAll(f.refs(dropRepo), "refs/heads/x", "") {
		t.Errorf("pushed: %s", f.refs(dropRepo))
	}
	if !strings.Contains(strings.Join(strings.Fields(r.Stderr), " "), "is new since this project was first run") {
		t.Errorf("nobody is told: %s", r.show())
	}
	if !f.holds("/" + ownRepo) {
		t.Errorf("what was its own is not any more: %s", r.show())
	}
}

// The control of that: the same line, written by a person before ringfence first saw
// the project, does open it.
func TestGitSecondRemote(t *testing.T) {
	s := begin(t)
	f := s.forge()
	s.checkout(f)
	s.keepToken()
	f.git(s.Dir, "remote", "add", "more", "https://"+forgeName+"/"+secretRepo+".git")
	if r := s.ringfence("run", "--", "git", "ls-remote", "more"); r.Status != 0 {
		t.Error(r.show())
	}
}

// basicOf is the user and the password of a request.
func basicOf(q request) (user, password string, carried bool) {
	return (&http.Request{Header: q.Header}).BasicAuth()
}

// tokens are the passwords that the forge was shown.
func tokens(f *forge) (out []string) {
	for _, q := range f.requests() {
		if _, p, ok := basicOf(q); ok {
			out = append(out, p)
		}
	}
	return out
}

func (s *scene) read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}
