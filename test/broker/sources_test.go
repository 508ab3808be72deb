package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// The directory of Claude Code lies in the workspace, by a link from HOME. While one
// inside reads it over and over, the login is renewed by ringfence and replaced by
// another client: nothing of it is ever seen.
func TestLoginInWorkspace(t *testing.T) {
	s := begin(t)
	dir := filepath.Join(s.Dir, "dot/claude")
	link := filepath.Join(stage.Home, ".claude")
	lead := func(to string) {
		t.Helper()
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	os.RemoveAll(link)
	lead(dir)
	s.Put("dot/plain.txt", []byte("nothing secret\n"), 0o644)
	a := s.account()
	s.writeLogin(a, -time.Minute)
	const look = "cat dot/claude/.credentials.json dot/claude/.*ringfence* dot/claude/*.new 2>/dev/null; cat dot/plain.txt; grep -r CANARY dot"
	if got := s.host("sh", "-c", look).Stdout; !strings.Contains(got, "CANARY") {
		t.Fatalf("the control does not find it: %s", got)
	}
	if got := s.ringfence("claude", "--expose", link+"/.credentials.json", "--reveal", "dot/claude/.credentials.json", "--", "sh", "-c", look).Stdout; !strings.Contains(got, "CANARY") {
		t.Errorf("the reading does not find what is shown: %s", got)
	}
	h := s.hold("claude", "--", "sh")
	unseen := func(when string) {
		t.Helper()
		if got := h.say(look); strings.Contains(got, "CANARY") || !strings.Contains(got, "nothing secret") {
			t.Errorf("%s, inside: %s", when, got)
		}
	}
	unseen("before")
	h.say("(while [ ! -e stop ]; do " + look + "; done >seen) & echo")
	if got := h.say(postAsLogin); got != "ok 200" {
		t.Fatalf("the login is not used: %s", got)
	}
	unseen("renewed")
	for range 20 {
		s.writeLogin(a, 2*time.Hour)
	}
	unseen("replaced")
	if got := h.say("touch stop; wait; grep -c CANARY seen"); got != "0" {
		t.Errorf("it was seen in between: %s", got)
	}
	s.checkLogin(a)

	// It comes to lie where everything is shown: then it is not used.
	other := filepath.Join(s.Dir, "open")
	lead(other)
	s.writeLogin(a, time.Hour)
	n := len(a.model.requests())
	if got := h.say(postAsLogin); !strings.Contains(got, "lies where the agent can read it") || len(a.model.requests()) != n {
		t.Errorf("a login that the agent can read: %s", got)
	}
	h.end()
	os.Remove(link)
}

// The directory of a login is to be made in the workspace: by whoever logs in, during the
// session, and then nothing would cover it.
func TestLoginThatIsNotThereYet(t *testing.T) {
	s := begin(t)
	dir, link := filepath.Join(s.Dir, "dot/later"), filepath.Join(stage.Home, ".claude")
	os.RemoveAll(link)
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	if got := s.ringfence("claude", "--", "true"); got.Status == 0 || !strings.Contains(got.Stderr, "mkdir -p "+dir) {
		t.Fatalf("%d: %s", got.Status, got.Stderr)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h := s.hold("claude", "--", "sh")
	s.writeLogin(s.account(), time.Hour)
	if got := h.say("cat dot/later/.credentials.json 2>&1; mv dot/later dot/x 2>&1; ls -A dot/later; echo"); strings.Contains(got, "CANARY") || strings.Contains(got, ".credentials.json\n") {
		t.Errorf("inside: %s", got)
	}
	h.end()
}
