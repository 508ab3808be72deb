package broker

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// held is a session that lasts as long as the test wants.
type held struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	log   *os.File
	kill  context.CancelFunc
}

// hold starts a session that answers each line with what a shell prints for it.
func (s *scene) hold(args ...string) *held {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &held{t: s.t, cmd: s.command(ctx, args...), kill: cancel}
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if h.log, err = os.CreateTemp(s.State, "stderr-"); err != nil {
		s.t.Fatal(err)
	}
	h.cmd.Stderr = h.log
	if err := h.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	h.lines = bufio.NewScanner(out)
	h.lines.Buffer(nil, 1<<20)
	s.t.Cleanup(func() { h.end(); cancel() })
	return h
}

// say runs one line of shell inside and returns what it prints. A line that does not
// end is the end of the session.
func (h *held) say(line string) string {
	h.t.Helper()
	defer time.AfterFunc(wait.Patience, h.kill).Stop()
	if _, err := io.WriteString(h.in, line+"\necho; echo .\n"); err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for h.lines.Scan() {
		if h.lines.Text() == "." {
			return strings.TrimSpace(strings.Join(out, "\n"))
		}
		out = append(out, h.lines.Text())
	}
	text, _ := os.ReadFile(h.log.Name())
	h.t.Fatalf("the session ended: %s\n%s", strings.Join(out, "\n"), text)
	return ""
}

// end ends it and returns its status.
func (h *held) end() int {
	defer time.AfterFunc(wait.Patience, h.kill).Stop()
	h.in.Close()
	h.cmd.Wait()
	return h.cmd.ProcessState.ExitCode()
}

// A phantom is good in its session, for its site, until the end; nowhere else.
func TestPhantomIsBound(t *testing.T) {
	s := begin(t)
	v := s.vendor(vendorName, vendorAddr, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != realKey {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		io.WriteString(w, "ok")
	})
	bearer := s.vendor("private.test", "203.0.113.201", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "private "+strings.Repeat("*", len(r.Header.Get("Authorization"))))
	})
	const other = "CANARYotherSecretOfTheHost012345"
	s.write(filepath.Join(s.State, "other"), other, 0o600)
	s.policy("[secret.other]\nuse = \"bearer\"\nhosts = [\"private.test\"]\nenv = [\"PRIVATE_TOKEN\"]\nfrom = \"file:" + s.State + "/other\"\n")
	s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey)
	shell := []string{"claude", "--", "sh"}
	one, two := s.hold(shell...), s.hold(shell...)
	first, second := one.say("echo $ANTHROPIC_AUTH_TOKEN"), two.say("echo $ANTHROPIC_AUTH_TOKEN")
	if first == second || first == "" {
		t.Fatalf("phantoms %q and %q", first, second)
	}
	private := one.say("echo $PRIVATE_TOKEN")
	post := func(token string) string {
		return `curl -s -w '%{http_code}' -H "Authorization: Bearer ` + token + `" -H "Content-Type: application/json" -d '` + hello + `' $ANTHROPIC_BASE_URL/v1/messages`
	}
	get := func(token string) string {
		return `curl -s -w '%{http_code}' -H "Authorization: Bearer ` + token + `" https://private.test/x`
	}
	for name, c := range map[string]struct{ got, want string }{
		"its own session":     {one.say(post(first)), "ok200"},
		"the other session":   {two.say(post(second)), "ok200"},
		"one's in the other":  {two.say(post(first)), "401"},
		"the other's in one":  {one.say(post(second)), "401"},
		"its own site":        {one.say(get(private)), "private " + strings.Repeat("*", len("Bearer "+other)) + "200"},
		"for another site":    {one.say(get(first)), "403"},
		"another site's here": {one.say(post(private)), "401"},
	} {
		if !strings.HasSuffix(c.got, c.want) {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
	if n := len(v.requests()); n != 2 {
		t.Errorf("the vendor got %d requests", n)
	}
	if n := len(bearer.requests()); n != 1 || bearer.requests()[0].Header.Get("Authorization") != "Bearer "+other {
		t.Errorf("the other site got %d requests, %v", n, bearer.requests())
	}
	// From outside, at the vendor: it is no key. And the endpoint is not on the host.
	v.forget()
	bundle := s.State + "/bundle.pem"
	if r := s.host("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", bundle, "-H", "X-Api-Key: "+first, "-d", hello, "https://"+vendorName+"/v1/messages"); r.Stdout != "401" {
		t.Errorf("the vendor takes the phantom: %s", r.show())
	}
	if r := s.host("curl", "-s", "-m5", "http://127.0.0.1:809/anthropic/v1/models"); r.Status != 7 {
		t.Errorf("the endpoint answers on the host: %s", r.show())
	}
	one.end()
	if got := two.say(post(first)); !strings.HasSuffix(got, "401") {
		t.Errorf("after its session: %q", got)
	}
	if three := s.hold(shell...); !strings.HasSuffix(three.say(post(first)), "401") || !strings.HasSuffix(three.say(post("$ANTHROPIC_AUTH_TOKEN")), "200") {
		t.Error("a phantom outlives its session, or a new session has none")
	}
	if bearer.holds(private) || bearer.holds(first) {
		t.Error("a phantom reached a site")
	}
}
