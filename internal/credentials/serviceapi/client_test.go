package serviceapi

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
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
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// host stands between a real client and a service, as the broker does: it judges,
// strips, puts the real credential in, and lets answers be learned from.
type host struct {
	t       *testing.T
	service *Service
	answer  http.HandlerFunc // the service itself; it sees the real credential only

	mu   sync.Mutex
	seen []string // "allow POST /path", and so on
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := From(r, nil)
	var body []byte
	if h.service.NeedsBody(asked) {
		body, _ = io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
		asked = From(r, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	d := h.service.Judge(asked)
	value, where, err := h.service.Presented(r)
	if err != nil || (value != "" && value != phantom) {
		d = Decision{Rule: "credential", Reason: "the credential in " + where + " is not this session's"}
	}
	verdict := map[bool]string{true: "allow", false: "deny"}[d.Allow]
	h.mu.Lock()
	h.seen = append(h.seen, verdict+" "+r.Method+" "+r.URL.EscapedPath())
	h.mu.Unlock()
	if !d.Allow {
		contentType, refusal := Refusal(h.service.config.Kind, 403, d)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(403)
		w.Write(refusal)
		return
	}
	h.service.Strip(r)
	h.service.Put(r, "", "REAL")
	answer := httptest.NewRecorder()
	h.answer(answer, r)
	if d.Learn != nil && answer.Code == 200 {
		d.Learn(answer.Body.Bytes())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
}

// saw reports whether a request was decided so.
func (h *host) saw(line string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.seen, line)
}

func real(t *testing.T, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != "Bearer REAL" || strings.Contains(fmt.Sprint(r.Header), phantom) {
		t.Errorf("%s %s carries %q", r.Method, r.URL, r.Header)
	}
}

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing", name)
	}
	return path
}

func run(t *testing.T, dir string, env []string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// terminate serves a name by TLS behind a proxy on loopback, with an authority of
// its own, and returns what a client needs to get there.
func terminate(t *testing.T, name string, h http.Handler) []string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	inner := httptest.NewUnstartedServer(h)
	inner.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	inner.StartTLS()
	t.Cleanup(inner.Close)
	outer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outer.Close() })
	go func() {
		for {
			c, err := outer.Accept()
			if err != nil {
				return
			}
			go tunnel(c, name, inner.Listener.Addr().String())
		}
	}()
	proxy := "http://" + outer.Addr().String()
	return []string{"HTTPS_PROXY=" + proxy, "SSL_CERT_FILE=" + ca}
}

// tunnel answers one CONNECT for the one name.
func tunnel(c net.Conn, name, to string) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil || r.Method != "CONNECT" || r.Host != name+":443" {
		io.WriteString(c, "HTTP/1.1 403 Forbidden\r\n\r\n")
		return
	}
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { io.Copy(up, c); up.Close() }()
	io.Copy(c, up)
}

// githubAnswers says as much as gh 2.23 asks for. Where the fork's parent and
// foreign repositories are asked for, their ids are told too.
func githubAnswers(t *testing.T) http.HandlerFunc {
	const pr = `{"id":"PR_7","number":7,"title":"t","state":"OPEN","url":"https://ghe.test/o/r/pull/7","headRefName":"f","baseRefName":"main"}`
	return func(w http.ResponseWriter, r *http.Request) {
		real(t, r)
		data, _ := io.ReadAll(r.Body)
		body := string(data)
		say := func(s string) { io.WriteString(w, s) }
		switch {
		case strings.Contains(body, "createPullRequest"):
			say(`{"data":{"createPullRequest":{"pullRequest":` + pr + `}}}`)
		case strings.Contains(body, "updatePullRequest"):
			say(`{"data":{"updatePullRequest":{"clientMutationId":""}}}`)
		case strings.Contains(body, "addComment"):
			say(`{"data":{"addComment":{"commentEdge":{"node":{"url":"https://ghe.test/o/r/pull/7#c1"}}}}}`)
		case strings.Contains(body, "createIssue"):
			say(`{"data":{"createIssue":{"issue":{"id":"I_1","url":"https://ghe.test/o/r/issues/8"}}}}`)
		case strings.Contains(body, "ResolveMetadataIDs"):
			say(`{"data":{"u000":{"id":"U_1","login":"o"},"repository":{"l000":{"id":"L_1","name":"bug"}}}}`)
		case strings.Contains(body, "pullRequests("):
			say(`{"data":{"repository":{"pullRequests":{"totalCount":0,"nodes":[]},"defaultBranchRef":{"name":"main"}}}}`)
		case strings.Contains(body, "pullRequest("):
			say(`{"data":{"repository":{"pullRequest":` + pr + `}}}`)
		case strings.Contains(body, "repository("):
			id := "R_us"
			if strings.Contains(body, `"other"`) {
				id = "R_other"
			}
			say(`{"data":{"repository":{"id":"` + id + `","name":"r","owner":{"login":"o"},"hasIssuesEnabled":true,"viewerPermission":"WRITE","defaultBranchRef":{"name":"main"},"parent":null}}}`)
		default:
			say(`{"login":"o"}`)
		}
	}
}

// TestRealGH drives gh: what a session needs works, and the rest is refused in
// words that gh shows.
func TestRealGH(t *testing.T) {
	gh, git := tool(t, "gh"), tool(t, "git")
	h := &host{t: t, service: newService(t, Config{Kind: GitHub, Host: "ghe.test", Repos: []string{"o/r"}}), answer: githubAnswers(t)}
	env := append(terminate(t, "ghe.test", h), "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.test")
	for k, v := range h.service.ClientEnv(phantom) {
		env = append(env, k+"="+v)
	}
	dir := t.TempDir()
	for _, step := range [][]string{
		{"init", "-q", "-b", "main"}, {"commit", "-q", "--allow-empty", "-m", "1"}, {"checkout", "-q", "-b", "f"}, {"commit", "-q", "--allow-empty", "-m", "2"},
		{"remote", "add", "origin", "https://ghe.test/o/r.git"}, {"update-ref", "refs/remotes/origin/main", "main"}, {"update-ref", "refs/remotes/origin/f", "f"},
	} {
		if out, err := run(t, dir, env, append([]string{git}, step...)...); err != nil {
			t.Fatalf("git %v: %v %s", step, err, out)
		}
	}
	for _, c := range []struct {
		args, want string
		fails      bool
	}{
		{"pr comment 7 --body x --repo other/one", "was not seen in a query about o/r", true},
		{"pr create --title T --body B --head f --base main --label bug --assignee o", "https://ghe.test/o/r/pull/7", false},
		{"pr comment 7 --body x", "pull/7#c1", false},
		{"issue create --title T --body B", "https://ghe.test/o/r/issues/8", false},
		{"issue create --title T --body B --repo other/one", "was not seen in a query about o/r", true},
		{"api user", `"login":"o"`, false},
		{"api repos/o/r/pulls -f title=t -f head=f -f base=main", `"login":"o"`, false},
		{"api repos/other/one/issues -f title=t", "writing is denied but for issues", true},
		{"api -X PUT repos/o/r/pulls/7/merge", "merging is for a person", true},
		{"api repos/o/r/actions/secrets", "secrets, variables and environments are closed", true},
		{"api graphql -f query={viewer{gists(first:1){nodes{name}}}}", "gists is closed", true},
		{"gist create --filename a " + filepath.Join(dir, ".git/HEAD"), "gists are closed", true},
		{"repo create o/new --private", "", true},
	} {
		out, err := run(t, dir, env, append([]string{gh}, strings.Fields(c.args)...)...)
		if (err != nil) != c.fails || !strings.Contains(out, c.want) {
			t.Errorf("gh %s: %v\n%s", c.args, err, out)
		}
	}
	if !h.saw("deny POST /api/v3/gists") || !h.saw("allow POST /api/graphql") || !h.saw("deny POST /api/graphql") {
		t.Errorf("seen: %q", h.seen)
	}
	for i, e := range env { // a key that was smuggled in
		if strings.HasPrefix(e, "GH_ENTERPRISE_TOKEN=") {
			env[i] = "GH_ENTERPRISE_TOKEN=ghp_theirs"
		}
	}
	if out, err := run(t, dir, env, gh, "api", "user"); err == nil || !strings.Contains(out, "not this session's") {
		t.Errorf("a foreign key: %v %s", err, out)
	}
}

// TestRealNPM drives npm: it reads without a token, is told why it cannot publish,
// and publishes where that is switched on.
func TestRealNPM(t *testing.T) {
	npm := tool(t, "npm")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name":"@s/canary","version":"1.0.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var published sync.Map
	answer := func(w http.ResponseWriter, r *http.Request) {
		real(t, r)
		switch {
		case r.Method == "PUT":
			published.Store(r.URL.EscapedPath(), true)
			io.WriteString(w, `{"ok":true}`)
		case r.URL.Path == "/-/whoami":
			io.WriteString(w, `{"username":"me"}`)
		case r.URL.Path == "/@s/canary":
			w.WriteHeader(404)
			io.WriteString(w, `{"error":"not found"}`)
		default:
			io.WriteString(w, `{"name":"@s/x","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"@s/x","version":"1.0.0","dist":{"tarball":"http://x.test/x.tgz"}}}}`)
		}
	}
	for _, publish := range []bool{false, true} {
		h := &host{t: t, answer: answer}
		server := httptest.NewUnstartedServer(h)
		h.service = newService(t, Config{Kind: NPM, Host: server.Listener.Addr().String(), Publish: publish})
		server.Start()
		defer server.Close()
		env := []string{"npm_config_registry=" + server.URL + "/", "npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_cache=" + t.TempDir()}
		if out, err := run(t, dir, env, npm, "view", "@s/x", "version"); err != nil || !strings.Contains(out, "1.0.0") {
			t.Errorf("view without a token: %v %s", err, out)
		}
		rc := filepath.Join(t.TempDir(), "npmrc")
		if err := os.WriteFile(rc, []byte(strings.Join(h.service.ClientLines(phantom), "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		env = append(env, "NPM_CONFIG_GLOBALCONFIG="+rc)
		for k, v := range h.service.ClientEnv(phantom) {
			env = append(env, k+"="+v)
		}
		if out, err := run(t, dir, env, npm, "whoami"); err != nil || !strings.Contains(out, "me") {
			t.Errorf("whoami: %v %s", err, out)
		}
		out, err := run(t, dir, env, npm, "publish", "--access", "public")
		_, there := published.Load("/@s%2fcanary")
		if (err == nil) != publish || there != publish || (!publish && !strings.Contains(out, "publishing to this registry is denied")) {
			t.Errorf("publish %v: %v, published %v\n%s", publish, err, there, out)
		}
		if out, err := run(t, dir, env, npm, "token", "list"); err == nil || !strings.Contains(out, "tokens of the registry are closed") {
			t.Errorf("token list: %v %s", err, out)
		}
		if out, err := run(t, dir, env, npm, "unpublish", "--force", "@s/x@1.0.0"); err == nil || h.saw("allow DELETE /@s%2fx/-rev/undefined") {
			t.Errorf("unpublish: %v %s", err, out)
		}
	}
}
