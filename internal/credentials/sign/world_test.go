package sign

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/internal/file/settings"
)

const (
	endpointVar = "TEST_ENDPOINT"
	me          = "me@example.test"
)

// TestMain makes the test binary the client too, as the product's is: git calls
// it by a link with the client's name.
func TestMain(m *testing.M) {
	if Is(os.Args[0]) {
		os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Getenv(endpointVar)))
	}
	os.Exit(m.Run())
}

// world has a host with a key, a workspace with a repository, and the endpoint
// between them.
type world struct {
	t       *testing.T
	dir     string // canonical, short: sockets lie in it
	server  *httptest.Server
	config  Config
	mu      sync.Mutex
	events  []Event
	gitArgs []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	for _, tool := range []string{"git", "ssh-keygen", "ssh-agent", "ssh-add", "gpg", "gpgsm", "gpgconf"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "sign")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, dir: dir}
	for _, d := range []string{"home/.ssh", "home/.gnupg", "run", "bin", "inside", "ws"} {
		if err := os.MkdirAll(w.path(d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{GPG, GPGSM, SSHKeygen} {
		if err := os.Symlink(self, w.path("bin/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	w.config = Config{
		Stores:     []string{w.path("ws/r/.git/objects")},
		Workspaces: []string{w.path("ws")},
		Identity:   Identity{Name: "Me", Email: me},
		Environ:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.path("home"), "GNUPGHOME=" + w.path("home/.gnupg"), "SECRET=x"},
		Runtime:    w.path("run"),
		Record: func(e Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
	}
	return w
}

func (w *world) path(rel string) string { return filepath.Join(w.dir, rel) }

func (w *world) write(rel, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(rel)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(rel), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// host runs a program as the user does on the host.
func (w *world) host(stdin string, argv ...string) string {
	w.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = w.config.Environ
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%q: %v: %s", argv, err, out)
	}
	return string(out)
}

func entries(lines []string) []settings.GitEntry {
	var all []settings.GitEntry
	for _, s := range lines {
		key, value, _ := strings.Cut(s, "=")
		all = append(all, settings.GitEntry{Key: key, Value: value})
	}
	return all
}

// serve opens the endpoint for the key that settings name, and writes the config
// that git sees inside.
func (w *world) serve(settings ...string) {
	w.t.Helper()
	key, err := KeyFrom(entries(settings))
	if err != nil {
		w.t.Fatal(err)
	}
	w.config.Key = key
	if err := w.config.Check(); err != nil {
		w.t.Fatal(err)
	}
	w.server = httptest.NewServer(New(w.config))
	w.t.Cleanup(w.server.Close)
	w.gitArgs = []string{"-c", "user.name=Me", "-c", "user.email=" + me, "-c", "init.defaultBranch=main"}
	for _, e := range key.Inside(w.path("bin")) {
		w.gitArgs = append(w.gitArgs, "-c", e.Key+"="+e.Value)
	}
}

// try runs git inside.
func (w *world) try(rel string, args ...string) (string, error) {
	cmd := exec.Command("git", append(append([]string{}, w.gitArgs...), args...)...)
	cmd.Dir = w.path(rel)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.path("inside"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_EDITOR=true",
		"TMPDIR=" + w.path("inside"), endpointVar + "=" + w.server.URL + Prefix}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) git(rel string, args ...string) string {
	w.t.Helper()
	out, err := w.try(rel, args...)
	if err != nil {
		w.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return out
}

// verify runs git on the host, where the keys to verify with are.
func (w *world) verify(rel, what, ref string) {
	w.t.Helper()
	w.host("", "git", "-c", "safe.directory=*", "-c", "gpg.ssh.allowedSignersFile="+w.path("home/allowed"), "-C", w.path(rel), what, ref)
}

// last returns the last event.
func (w *world) last() Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		w.t.Fatal("nothing was recorded")
	}
	return w.events[len(w.events)-1]
}

// sshKey makes a key of the host and returns the path of its private half.
func (w *world) sshKey(rel string) string {
	w.t.Helper()
	w.host("", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", w.path(rel))
	w.write("home/allowed", me+" "+w.read(rel+".pub"))
	return w.path(rel)
}

func (w *world) read(rel string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(rel))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// gpgKey makes a key without a passphrase and returns its fingerprint.
func (w *world) gpgKey() string {
	w.t.Helper()
	w.t.Cleanup(func() { w.host("", "gpgconf", "--kill", "all") })
	w.host("", "gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key", "Me <"+me+">", "ed25519", "sign", "never")
	for line := range strings.Lines(w.host("", "gpg", "--batch", "--with-colons", "--list-secret-keys")) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			return fields[9]
		}
	}
	w.t.Fatal("no key was made")
	return ""
}
