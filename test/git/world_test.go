package git

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/internal/credentials/gitproxy"
)

const (
	host    = "forge.test"
	store   = "store.test"
	token   = "ghp_RealTokenOfTheHost0123456789abcdefgh"
	signed  = "RemoteAuth SignedByTheForge0123456789"
	own     = "alice/work"
	lib     = "bob/lib"    // public
	secret  = "carol/safe" // only with the token
	gitUser = "x-access-token"
)

// world is a forge with repositories, the handler before it, and a client that
// knows only the handler.
type world struct {
	t        testing.TB
	dir      string
	env      []string
	upstream *httptest.Server // the forge
	front    *httptest.Server // the handler
	lfs      *lfsServer

	mu     sync.Mutex
	events []gitproxy.Event
	seen   []seen
	moved  map[string]string // renamed repositories
}

// seen is a request as the forge got it.
type seen struct {
	method, path string
	header       http.Header
}

func need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("this test needs %s", tool)
		}
	}
}

func newWorld(t testing.TB, change ...func(*gitproxy.Config)) *world {
	t.Helper()
	need(t, "git", "git-lfs")
	w := &world{t: t, dir: t.TempDir(), moved: map[string]string{}}
	w.env = append(os.Environ(), "HOME="+w.path("home"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL="+w.path("home/gitconfig"),
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@a.test", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@a.test", "LC_ALL=C")
	os.MkdirAll(w.path("home"), 0o700)
	w.lfs = newLFS(w)
	w.upstream = httptest.NewTLSServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.upstream.Close)
	w.populate()
	w.frontFor(change...)
	return w
}

// frontFor puts a handler, with the Config changed, before the forge.
func (w *world) frontFor(change ...func(*gitproxy.Config)) {
	w.t.Helper()
	w.front = httptest.NewUnstartedServer(nil)
	self := "http://" + w.front.Listener.Addr().String() + "/git/" + host
	c := gitproxy.Config{Upstream: "https://" + host, Self: self, Transport: w.dial(true), Anonymous: w.dial(false), Storage: w.dial(false),
		Repos: []string{own}, Protected: []string{"release/*"}, Spool: w.dir,
		Record: func(e gitproxy.Event) { w.mu.Lock(); w.events = append(w.events, e); w.mu.Unlock() }}
	for _, f := range change {
		f(&c)
	}
	h, err := gitproxy.New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.front.Config.Handler = h
	w.front.Start()
	w.t.Cleanup(w.front.Close)
	config := strings.Join(gitproxy.InsteadOf(self, host), "\n") + "\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n[lfs]\n\tlocksverify = true\n" +
		"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n"
	if err := os.WriteFile(w.path("home/gitconfig"), []byte(config), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// roundTripper adds the token, as the broker does.
type roundTripper struct {
	*http.Transport
	auth bool
}

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.auth {
		req = req.Clone(req.Context())
		req.SetBasicAuth(gitUser, token)
	}
	return r.Transport.RoundTrip(req)
}

func (w *world) dial(auth bool) http.RoundTripper {
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.upstream.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com"},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			name, _, _ := net.SplitHostPort(address)
			switch name {
			case host:
				address = w.upstream.Listener.Addr().String()
			case store:
				address = w.lfs.server.Listener.Addr().String()
			default:
				return nil, fmt.Errorf("the test has no host %s", address)
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}}
	w.t.Cleanup(tr.CloseIdleConnections)
	return roundTripper{tr, auth}
}

// serve is the forge: git's http-backend behind a door.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.seen = append(w.seen, seen{r.Method, r.URL.Path, r.Header.Clone()})
	for from, to := range w.moved {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/"+from+".git"); ok {
			w.mu.Unlock()
			http.Redirect(rw, r, to+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return
		}
	}
	w.mu.Unlock()
	user, password, _ := r.BasicAuth()
	in := user == gitUser && password == token
	public := strings.HasPrefix(r.URL.Path, "/"+lib) && r.URL.RawQuery != "service=git-receive-pack" && !strings.HasSuffix(r.URL.Path, "/git-receive-pack")
	if !in && !public {
		rw.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
		rw.Header().Set("Set-Cookie", "session="+token)
		http.Error(rw, "who are you?", http.StatusUnauthorized)
		return
	}
	if strings.Contains(r.URL.Path, "/info/lfs/") || strings.Contains(r.URL.Path, "/lfs-objects/") {
		w.lfs.forge(rw, r)
		return
	}
	if r.ContentLength < 0 { // CGI wants a length
		b, _ := io.ReadAll(r.Body)
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
	}
	rw.Header().Set("Set-Cookie", "session="+token)
	backend(w.path("forge"), w.env).ServeHTTP(rw, r)
}

func backend(root string, env []string) http.Handler {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		panic(err)
	}
	return &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Root: "/", Dir: root,
		Env:        append([]string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, slices.DeleteFunc(slices.Clone(env), func(s string) bool { return strings.HasPrefix(s, "GIT_CONFIG_GLOBAL") })...),
		InheritEnv: []string{"PATH"}, Stderr: io.Discard}
}

func (w *world) path(rel string) string { return filepath.Join(w.dir, rel) }

func (w *world) bare(repo string) string { return w.path("forge/" + repo + ".git") }

// template is where the repositories of all worlds come from.
var template = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "git-template-") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := template(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

var populated sync.Once

// populate gives the forge its repositories. They are made once and copied.
func (w *world) populate() {
	w.t.Helper()
	dir, err := template()
	if err != nil {
		w.t.Fatal(err)
	}
	populated.Do(func() {
		here := world{t: w.t, dir: dir, env: w.env}
		for _, repo := range []string{own, lib, secret} {
			here.create(repo)
		}
	})
	if err := os.CopyFS(w.dir, os.DirFS(dir)); err != nil {
		w.t.Fatal(err)
	}
}

// create makes a repository with a few commits, a workflow among them.
func (w *world) create(repo string) {
	w.t.Helper()
	w.git(".", "init", "-q", "--bare", "-b", "main", w.bare(repo))
	for _, kv := range [][2]string{{"uploadpack.allowFilter", "true"}, {"http.receivepack", "true"}, {"receive.advertisePushOptions", "true"},
		{"receive.certNonceSeed", "seed"}, {"gc.auto", "0"}, {"receive.denyDeleteCurrent", "ignore"}} {
		w.git(w.bare(repo), "config", kv[0], kv[1])
	}
	seed := w.path("seed/" + repo)
	w.git(".", "init", "-q", "-b", "main", seed)
	for i := range 5 {
		w.write(seed, "README", fmt.Sprintf("%s, edition %d\n", repo, i))
		w.write(seed, fmt.Sprintf("src/deep/file-%d", i), strings.Repeat(fmt.Sprintf("line %d\n", i), 200))
		w.write(seed, ".github/workflows/ci.yml", fmt.Sprintf("on: push # %d\n", i/4))
		w.write(seed, ".github/CODEOWNERS", "* @alice\n")
		w.commit(seed, fmt.Sprint("commit ", i))
	}
	w.git(seed, "push", "-q", w.bare(repo), "main", "main~2:refs/heads/old", "main:refs/heads/release/1")
	w.git(w.bare(repo), "repack", "-adbq") // with bitmaps, by which large forges answer
}

// run runs git as the client does.
func (w *world) run(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	if cmd.Dir = dir; !filepath.IsAbs(dir) {
		cmd.Dir = w.path(dir)
	}
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.run(dir, args...)
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func (w *world) write(dir, name, text string) {
	w.t.Helper()
	if !filepath.IsAbs(dir) {
		dir = w.path(dir)
	}
	full := filepath.Join(dir, name)
	os.MkdirAll(filepath.Dir(full), 0o700)
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) commit(dir, message string) string {
	w.t.Helper()
	w.git(dir, "add", "-A")
	w.git(dir, "commit", "-q", "--allow-empty", "-m", message)
	return w.git(dir, "rev-parse", "HEAD")
}

// clone clones the session's repository through the handler.
func (w *world) clone(name string, args ...string) string {
	w.t.Helper()
	w.git(".", append(append([]string{"clone", "-q"}, args...), "https://"+host+"/"+own+".git", name)...)
	return name
}

// at is where a ref of the forge's own disk is, "" if it is not there.
func (w *world) at(repo, ref string) string {
	out, err := w.run(w.bare(repo), "rev-parse", "--verify", "-q", ref)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// all is every ref of a repository on the forge's own disk.
func (w *world) all(repo string) string { return w.git(w.bare(repo), "for-each-ref") }

// rename has the forge send whoever asks for a repository elsewhere.
func (w *world) rename(repo, to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved[repo] = to
}

func (w *world) requests() []seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

func (w *world) lastEvent() gitproxy.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		return gitproxy.Event{}
	}
	return w.events[len(w.events)-1]
}

func noAnonymous(c *gitproxy.Config) { c.Anonymous = nil }

func repos(names ...string) func(*gitproxy.Config) {
	return func(c *gitproxy.Config) { c.Repos = names }
}

func allow(rules ...string) func(*gitproxy.Config) {
	return func(c *gitproxy.Config) { c.Allow = rules }
}
