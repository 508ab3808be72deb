package sign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// post sends bytes to the endpoint as an agent without a client would.
func (w *world) post(format string, payload []byte) (int, string) {
	w.t.Helper()
	r, err := http.Post(w.server.URL+Prefix+format, "application/octet-stream", bytes.NewReader(payload))
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// repository makes one with a commit, signed or not, and returns tree and commit.
func (w *world) repository(rel, content string) (tree, commit string) {
	w.t.Helper()
	w.git("ws", "init", "-q", w.path(rel))
	w.write(rel+"/file", content)
	w.git(rel, "add", ".")
	w.git(rel, "commit", "-q", "-m", "x")
	return strings.TrimSpace(w.git(rel, "rev-parse", "HEAD^{tree}")), strings.TrimSpace(w.git(rel, "rev-parse", "HEAD"))
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.serve(ways["ssh file"](w)...)
	tree, commit := w.repository("ws/r", "mine")
	otherTree, otherCommit := w.repository("elsewhere", "theirs")
	now := fmt.Sprintf("%d +0000", time.Now().Unix())
	person := "Me <" + me + "> " + now
	good := "tree " + tree + "\nparent " + commit + "\nauthor " + person + "\ncommitter " + person + "\n\nsubject\n"
	tag := "object " + commit + "\ntype commit\ntag v1\ntagger " + person + "\n\nsubject\n"
	swap := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	tests := []struct {
		name, payload string
		status        int
		text          string
	}{
		{"commit", good, 200, "-----BEGIN SSH SIGNATURE-----"},
		{"tag", tag, 200, "-----BEGIN SSH SIGNATURE-----"},
		{"old author", swap("author "+person, "author X <x@y.test> 1 +0000"), 200, "-----BEGIN"},
		{"nothing", "", 403, notOurs},
		{"text", "I owe you a house.\n", 403, notOurs},
		{"SSH challenge", "\x00\x00\x00\x20" + strings.Repeat("s", 32) + "2\x00\x00\x00\x04root\x00\x00\x00\x0essh-connection", 403, "NUL"},
		{"SSHSIG blob", "SSHSIG\x00\x00\x00\x03git\x00\x00\x00\x00", 403, notOurs},
		{"push certificate", "certificate version 0.1\npusher k " + person + "\n\nx\n", 403, notOurs},
		{"foreign tree", swap(tree, otherTree), 403, "tree " + otherTree + " is not in its object store"},
		{"foreign parent", swap(commit, otherCommit), 403, "commit " + otherCommit + " is not in its object store"},
		{"tree for a parent", swap(commit, tree), 403, "is not in its object store"},
		{"commit for a tree", swap(tree, commit), 403, "is not in its object store"},
		{"foreign committer", swap("committer Me <"+me, "committer Me <eve@example.test"), 403, `the committer is "eve@example.test", and the key signs for "me@example.test" alone`},
		{"committer in another case", swap("committer Me <me@", "committer Me <ME@"), 403, "alone"},
		{"address in the name", swap("committer Me <"+me+">", "committer <"+me+"> <eve@example.test>"), 403, notOurs},
		{"yesterday's yesterday", swap("committer "+person, "committer Me <"+me+"> 1700000000 +0000"), 403, "is not now"},
		{"tomorrow's tomorrow", swap("committer "+person, fmt.Sprintf("committer Me <%s> %d +0000", me, time.Now().Unix()+100000)), 403, "is not now"},
		{"signed", swap("\n\nsubject", "\ngpgsig x\n\nsubject"), 403, "carries a signature already"},
		{"blank line early", swap("author", "\nauthor"), 403, notOurs},
		{"two blank lines", swap("\n\nsubject", "\n\n\nsubject"), 403, notOurs},
		{"foreign tag", strings.Replace(tag, commit, otherCommit, 1), 403, "is not in its object store"},
		{"tag of another type", strings.Replace(tag, "type commit", "type tree", 1), 403, "is not in its object store"},
		{"foreign tagger", strings.Replace(tag, me, "eve@example.test", 1), 403, "the tagger is"},
		{"signed tag", tag + "-----BEGIN SSH SIGNATURE-----\n", 403, "carries a signature already"},
		{"oversize", good + strings.Repeat("x", maxPayload), 413, "longer than"},
	}
	for _, tt := range tests {
		status, text := w.post("ssh", []byte(tt.payload))
		if status != tt.status || !strings.Contains(text, tt.text) {
			t.Errorf("%s: %d %s", tt.name, status, text)
		}
		e := w.last()
		if e.Allowed != (tt.status == 200) || e.Allowed == (e.Reason != "") || e.Format != SSH {
			t.Errorf("%s: %+v", tt.name, e)
		}
		sum := sha256.Sum256([]byte(tt.payload))
		if tt.status != 413 && e.Payload != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: hash %s", tt.name, e.Payload)
		}
	}
	for _, format := range []string{"openpgp", "x509", "gpg", "", "ssh/", "../ssh"} {
		if status, text := w.post(format, []byte(good)); status == 200 {
			t.Errorf("format %q: %s", format, text)
		}
	}
	r, err := http.Get(w.server.URL + Prefix + "ssh")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", r.StatusCode)
	}
}

// TestRefusalReadsWell: what git shows is the one line that helps, for formats
// whose programs git listens to and for those it does not.
func TestRefusalReadsWell(t *testing.T) {
	for _, name := range []string{"ssh file", "openpgp"} {
		w := newWorld(t)
		w.serve(ways[name](w)...)
		w.git("ws", "init", "-q", "r")
		out, err := w.try("ws/r", "-c", "user.email=eve@example.test", "commit", "-q", "-S", "--allow-empty", "-m", "x")
		if want := `ringfence: not signed: the committer is "eve@example.test"`; err == nil || strings.Count(out, want) != 1 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		w.git("ws", "init", "-q", "other")
		w.write("ws/other/file", "theirs")
		w.git("ws/other", "add", ".")
		out, err = w.try("ws/other", "commit", "-q", "-S", "-m", "x")
		if want := "ringfence: not signed: " + notOurs; err == nil || strings.Count(out, want) != 1 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		w.server.Close()
		out, err = w.try("ws/r", "commit", "-q", "-S", "--allow-empty", "-m", "x")
		if want := "ringfence: not signed: the endpoint on the host cannot be reached"; err == nil || strings.Count(out, want) != 1 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func TestNoAddressNoSignature(t *testing.T) {
	w := newWorld(t)
	w.config.Identity.Email = " <> "
	w.serve(ways["ssh file"](w)...)
	tree, _ := w.repository("ws/r", "x")
	payload := fmt.Sprintf("tree %s\nauthor a <> %d +0000\ncommitter a <> %[2]d +0000\n\nx\n", tree, time.Now().Unix())
	if status, text := w.post(SSH, []byte(payload)); status != 403 || !strings.Contains(text, "user.email is not set") {
		t.Errorf("%d %s", status, text)
	}
}

func TestSkewOff(t *testing.T) {
	w := newWorld(t)
	w.config.Skew = -1
	w.serve(ways["ssh file"](w)...)
	tree, _ := w.repository("ws/r", "x")
	payload := "tree " + tree + "\nauthor a <> 1 +0000\ncommitter a <" + me + "> 1 +0000\n\nx\n"
	if status, text := w.post(SSH, []byte(payload)); status != 200 {
		t.Errorf("%d %s", status, text)
	}
}

func TestLimit(t *testing.T) {
	w := newWorld(t)
	w.config.PerMinute = 3
	w.serve(ways["ssh file"](w)...)
	for i := range 6 {
		status, text := w.post(SSH, []byte("x"))
		if want := map[bool]int{true: 403, false: 429}[i < 3]; status != want {
			t.Errorf("request %d: %d %s", i, status, text)
		}
	}
	if len(w.events) != 4 {
		t.Errorf("%d events", len(w.events))
	}
	l := limit{most: 2}
	noon := time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		after     time.Duration
		ok, first bool
	}{{0, true, false}, {30, true, false}, {59, false, true}, {59, false, false}, {60, true, false}, {60, false, true}, {90, true, false}, {150, true, false}} {
		if ok, first := l.take(noon.Add(step.after * time.Second)); ok != step.ok || first != step.first {
			t.Errorf("step %d: %v %v", i, ok, first)
		}
	}
}

// TestOneAtATime: programs that would meet find each other's mark.
func TestOneAtATime(t *testing.T) {
	w := newWorld(t)
	key := w.sshKey("home/.ssh/id")
	w.script("home/alone", `mkdir "$HOME/busy" || exit 9; ssh-keygen "$@"; s=$?; rmdir "$HOME/busy"; exit $s`)
	w.serve("gpg.format=ssh", "gpg.ssh.program="+w.path("home/alone"), "user.signingkey="+key)
	payload := w.payload()
	results := make(chan int)
	for range 8 {
		go func() {
			status, _ := w.post(SSH, payload)
			results <- status
		}()
	}
	for range 8 {
		if status := <-results; status != 200 {
			t.Errorf("status %d", status)
		}
	}
}

// payload is a commit that may be signed.
func (w *world) payload() []byte {
	w.t.Helper()
	tree, _ := w.repository("ws/r", "x")
	return fmt.Appendf(nil, "tree %s\nauthor a <> 1 +0000\ncommitter a <%s> %d +0000\n\nx\n", tree, me, time.Now().Unix())
}

// overtime is a context whose time is over when over is closed.
type overtime struct {
	context.Context
	over chan struct{}
}

func (o overtime) Done() <-chan struct{} { return o.over }

func (o overtime) Err() error {
	select {
	case <-o.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestProgramEnds: a program that does not come to an end is ended, when its time
// is over and when nobody waits any more, and its children with it.
func TestProgramEnds(t *testing.T) {
	w := newWorld(t)
	w.serve("user.signingkey=x")
	payload := w.payload()
	if err := syscall.Mkfifo(w.path("home/alive"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.script("home/hangs", `exec 3>"$HOME/alive"; (sleep 60; echo lived on >&3) & echo ready >&3; wait`)
	w.config.Key.Program = w.path("home/hangs")
	recorded := make(chan Event, 1)
	w.config.Record = func(e Event) { recorded <- e }
	w.server.Config.Handler = New(w.config)
	request := func(ctx context.Context) *http.Request {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server.URL+Prefix+OpenPGP, bytes.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	over := overtime{t.Context(), make(chan struct{})}
	late := request(over)
	go w.server.Config.Handler.ServeHTTP(httptest.NewRecorder(), late)
	w.ends(func() { close(over.over) })
	if e := <-recorded; e.Allowed || !strings.Contains(e.Reason, "did not answer within") {
		t.Errorf("%+v", e)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := request(ctx)
	go func() {
		if r, err := http.DefaultClient.Do(gone); err == nil {
			r.Body.Close()
		}
	}()
	w.ends(cancel)
	if e := <-recorded; e.Allowed || !strings.Contains(e.Reason, "could not sign") {
		t.Errorf("%+v", e)
	}
}

// ends waits until the program and its child are there, ends them, and sees
// that they say nothing more: the file has an end when no one writes it.
func (w *world) ends(end func()) {
	w.t.Helper()
	alive, err := os.Open(w.path("home/alive"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer alive.Close()
	if _, err := io.ReadFull(alive, make([]byte, len("ready\n"))); err != nil {
		w.t.Fatal(err)
	}
	end()
	if words, err := io.ReadAll(alive); err != nil || len(words) > 0 {
		w.t.Errorf("%q %v", words, err)
	}
}

// TestHostFaults: what is wrong on the host is told to the host, and inside only
// that it is.
func TestHostFaults(t *testing.T) {
	w := newWorld(t)
	w.script("home/fails", `echo "secret words of $HOME" >&2; exit 3`)
	w.script("home/chats", `echo hello; echo "[GNUPG:] SIG_CREATED D 1 8 00 1 AB" >&2`)
	w.script("home/floods", `head -c 100000 /dev/zero; echo "[GNUPG:] SIG_CREATED D 1 8 00 1 AB" >&2`)
	w.script("home/silent", `exit 0`)
	w.serve("user.signingkey=x")
	payload := w.payload()
	for _, tt := range []struct{ settings, detail string }{
		{"gpg.program=" + w.path("home/fails"), "secret words"},
		{"gpg.program=" + w.path("home/chats"), "not a signature"},
		{"gpg.program=" + w.path("home/floods"), "more than"},
		{"gpg.program=" + w.path("home/silent"), "no signature was created"},
		{"gpg.program=" + w.path("home/gone"), "no such file"},
		{"gpg.program=no-such-program-anywhere", "not found"},
		{"gpg.program=./gpg", "neither a name nor an absolute path"},
		{"gpg.format=ssh", "neither user.signingkey"},
		{"gpg.format=ssh user.signingkey=relative/key", "absolute path"},
		{"gpg.format=ssh user.signingkey=" + w.path("home/gone"), "no such file"},
		{"gpg.format=ssh user.signingkey=" + w.path("home/fails"), "ssh-keygen: exit status"},
		{"gpg.format=ssh user.signingkey=x gpg.ssh.program=" + w.path("home/silent"), "absolute path"},
		{"gpg.format=ssh user.signingkey=" + w.path("home/fails") + " gpg.ssh.program=" + w.path("home/silent"), "no such file"},
		{"gpg.format=ssh gpg.ssh.defaultkeycommand=" + w.path("home/chats"), "printed no public key"},
	} {
		var err error
		if w.config.Key, err = KeyFrom(entries(strings.Fields(tt.settings))); err != nil {
			t.Fatal(err)
		}
		w.server.Config.Handler = New(w.config)
		status, text := w.post(w.config.Key.Format, payload)
		e := w.last()
		if status != 502 || !strings.Contains(text, "the journal of this session says why") || strings.Contains(text, w.dir) || strings.Contains(text, "secret") {
			t.Errorf("%s: %d %s", tt.settings, status, text)
		}
		if !strings.Contains(e.Detail, tt.detail) {
			t.Errorf("%s: detail %q", tt.settings, e.Detail)
		}
	}
}

// TestNothingFromTheWorkspace: what the agent can write decides nothing.
func TestNothingFromTheWorkspace(t *testing.T) {
	w := newWorld(t)
	key := w.sshKey("home/.ssh/id")
	w.script("ws/ssh-keygen", `touch "$HOME/ran"`)
	w.write("ws/id", "x")
	w.write("ws/gnupg/gpg.conf", "agent-program "+w.path("ws/ssh-keygen")+"\n")
	for link, target := range map[string]string{"home/linked": "ws/ssh-keygen", "home/.ssh/linked": "ws/id", "home/gnupg": "ws/gnupg", "home/bin": "ws"} {
		if err := os.Symlink(w.path(target), w.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	w.write("home/half/x", "")
	if err := os.Symlink(w.path("ws/gnupg/gpg.conf"), w.path("home/half/gpg.conf")); err != nil {
		t.Fatal(err)
	}
	base := w.config.Environ
	for name, tt := range map[string]struct{ settings, variable string }{
		"program":          {"gpg.format=ssh gpg.ssh.program=" + w.path("ws/ssh-keygen") + " user.signingkey=" + key, ""},
		"linked program":   {"gpg.format=ssh gpg.ssh.program=~/linked user.signingkey=" + key, ""},
		"roundabout":       {"gpg.format=ssh gpg.ssh.program=" + w.path("home") + "/../ws/ssh-keygen user.signingkey=" + key, ""},
		"key":              {"gpg.format=ssh user.signingkey=" + w.path("ws/id"), ""},
		"linked key":       {"gpg.format=ssh user.signingkey=~/.ssh/linked", ""},
		"command":          {"gpg.format=ssh gpg.ssh.defaultkeycommand=" + w.path("ws/ssh-keygen"), ""},
		"GNUPGHOME":        {"user.signingkey=x", "GNUPGHOME=" + w.path("ws/gnupg")},
		"linked GNUPGHOME": {"user.signingkey=x", "GNUPGHOME=" + w.path("home/gnupg")},
		"linked gpg.conf":  {"user.signingkey=x", "GNUPGHOME=" + w.path("home/half")},
		"PATH alone":       {"gpg.format=ssh user.signingkey=" + key, "PATH=" + w.path("ws") + ":" + w.path("home/bin") + ":.::ws"},
	} {
		var err error
		if w.config.Key, err = KeyFrom(entries(strings.Fields(tt.settings))); err != nil {
			t.Fatal(err)
		}
		w.config.Environ = append(base[:len(base):len(base)], tt.variable)
		if err := w.config.Check(); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	w.config.Environ = append([]string{}, base...)
	w.config.Environ[0] = "PATH=" + w.path("ws") + ":" + w.path("home/bin") + ":" + os.Getenv("PATH")
	w.serve("gpg.format=ssh", "user.signingkey="+key)
	w.git("ws", "init", "-q", "r")
	w.git("ws/r", "commit", "-q", "-S", "--allow-empty", "-m", "x")
	w.config.Environ = base
	w.verify("ws/r", "verify-commit", "HEAD")
	if _, err := os.Stat(w.path("home/ran")); err == nil {
		t.Error("a program of the workspace ran on the host")
	}
}

// TestEnvironment: the program gets what it needs by name.
func TestEnvironment(t *testing.T) {
	c := Config{Environ: []string{"HOME=/h", "SECRET=x", "GPG_TTY=/dev/pts/1", "LC_CTYPE=C", "SSH_AUTH_SOCK=/s", "LD_PRELOAD=/x", "PATH=/usr/bin:/ws/bin:rel", "GIT_DIR=/x"}, Workspaces: []string{"/ws"}}
	if got := strings.Join(c.environ(), " "); got != "PATH=/usr/bin HOME=/h LC_CTYPE=C SSH_AUTH_SOCK=/s" {
		t.Error(got)
	}
	c.Terminal = true
	if got := strings.Join(c.environ(), " "); !strings.Contains(got, "GPG_TTY=/dev/pts/1") {
		t.Error(got)
	}
}
