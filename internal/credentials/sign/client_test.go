package sign

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// host stands for the endpoint. It signs what starts with "tree".
func host(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || !strings.HasPrefix(string(b), "tree") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "because\n")
			return
		}
		if r.URL.Path != "/sign/ssh" {
			w.Header().Set("Sig-Created", "D 22 8 00 1 ABCD")
		}
		_, _ = io.WriteString(w, "signature "+strings.TrimPrefix(r.URL.Path, "/sign/")+"\n")
	}))
	t.Cleanup(s.Close)
	return s.URL + "/sign/"
}

func TestSign(t *testing.T) {
	endpoint := host(t)
	status := "\n[GNUPG:] SIG_CREATED D 22 8 00 1 ABCD\n"
	for _, tt := range []struct {
		args, stdin    string
		code           int
		stdout, stderr string
	}{
		{GPG + " --status-fd=2 -bsau KEY", "tree", 0, "signature openpgp\n", status},
		{"/x/" + GPG + " --status-fd 2 -bsau -bsau", "tree", 0, "signature openpgp\n", status},
		{GPGSM + " --status-fd=2 -bsau KEY", "tree", 0, "signature x509\n", status},
		{GPG + " -abu KEY", "tree", 0, "signature openpgp\n", ""},
		{GPG + " --armor --detach-sign --local-user KEY", "tree", 0, "signature openpgp\n", ""},
		{GPG + " --status-fd=2 -bsau KEY", "text", 1, "", "ringfence: not signed: because\n"},
		{GPG + " --status-fd=x -bsau KEY", "tree", 1, "", "ringfence: strconv.Atoi: parsing \"x\": invalid syntax\n"},
		{GPG + " -sau KEY", "tree", 1, "", "ringfence: not signed: the host makes detached and armoured signatures only: -bsau\n"},
		{GPG + " -bsau KEY", strings.Repeat("x", maxPayload+1), 1, "", "ringfence: not signed: it is longer than 1048576 bytes\n"},
		{SSHKeygen + " -Y sign -n git -f KEY", "tree", 0, "signature ssh\n", ""},
		{SSHKeygen + " -Ysign -ngit -fKEY -U", "tree", 0, "signature ssh\n", ""},
		{SSHKeygen + " -Y sign -n git -f KEY", "text", 1, "", "ringfence: not signed: because\n"},
		{SSHKeygen + " -Y sign -n file -f KEY", "tree", 1, "", "ringfence: not signed: the host signs in the namespace git only, and \"file\" was asked for\n"},
		{SSHKeygen + " -Y sign -f KEY", "tree", 1, "", "ringfence: not signed: the host signs in the namespace git only, and \"\" was asked for\n"},
		{SSHKeygen + " -Y sign -n git -f KEY a b", "tree", 1, "", "ringfence: not signed: the host signs one object at a time\n"},
		{"gpg -bsau KEY", "tree", 1, "", "ringfence: gpg is not a name of this program\n"},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(strings.Fields(tt.args), strings.NewReader(tt.stdin), &stdout, &stderr, endpoint)
		if code != tt.code || stdout.String() != tt.stdout || stderr.String() != tt.stderr {
			t.Errorf("%s: %d %q %q", tt.args, code, &stdout, &stderr)
		}
	}
}

func TestSignFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "buffer")
	if err := os.WriteFile(file, []byte("tree"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := Main([]string{SSHKeygen, "-Y", "sign", "-n", "git", "-f", "KEY", "-U", file}, nil, &stdout, &stderr, host(t))
	b, err := os.ReadFile(file + ".sig")
	if code != 0 || stdout.Len()+stderr.Len() > 0 || err != nil || string(b) != "signature ssh\n" {
		t.Errorf("%d %q %q %q %v", code, &stdout, &stderr, b, err)
	}
}

func TestIs(t *testing.T) {
	for name, want := range map[string]bool{GPG: true, "/x/" + GPGSM: true, "./" + SSHKeygen: true, "ringfence": false, "gpg": false, "": false} {
		if Is(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// TestPass: other calls reach the real program with all their words, or a
// sentence says that there is none. What cannot be reached says so too.
func TestPass(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{GPG, GPGSM, SSHKeygen} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gpg", "ssh-keygen"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho real \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		GPG + " --keyid-format=long --status-fd=1 --verify /s -": "real --keyid-format=long --status-fd=1 --verify /s -\n",
		GPG + " --version": "real --version\n",
		SSHKeygen + " -Y verify -n git -f a -I me -s s":           "real -Y verify -n git -f a -I me -s s\n",
		SSHKeygen + " -Y find-principals -f a -s sign":            "real -Y find-principals -f a -s sign\n",
		SSHKeygen + " -Y check-novalidate -n git -s s -Overify=x": "real -Y check-novalidate -n git -s s -Overify=x\n",
		SSHKeygen + " -Y match-principals -f a -I me":             "real -Y match-principals -f a -I me\n",
		SSHKeygen + " -lf key":                                    "real -lf key\n",
		GPGSM + " --verify x -":                                   "ringfence: gpgsm is not installed inside, and only signing is done by the host\n",
		GPG + " -bsau KEY":                                        "ringfence: not signed: the endpoint on the host cannot be reached",
	} {
		argv := strings.Fields(args)
		cmd := exec.Command(filepath.Join(dir, argv[0]), argv[1:]...)
		cmd.Env = []string{"PATH=" + dir, endpointVar + "=http://127.0.0.1:1/sign/", "http_proxy=http://127.0.0.1:2", "HTTP_PROXY=http://127.0.0.1:2"}
		log, err := os.Create(filepath.Join(dir, "log")) // not a pipe, or the line would go to this test's own errors
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = log, log
		_ = cmd.Run() // what it said is looked at
		log.Close()
		if out, err := os.ReadFile(log.Name()); err != nil || !strings.HasPrefix(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %q %v", args, out, err)
		}
	}
}
