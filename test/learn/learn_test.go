package learn

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// tool needs a file of HOME, a variable and a host.
const tool = `#!/bin/sh
cat ~/.toolrc || exit 3
test "$TOOL_MODE" = fast || exit 4
curl -sS --max-time 10 --cacert ca.pem https://origin.example.com/ || exit 5
curl -sS --max-time 10 http://other.example.com:8080/ >/dev/null 2>&1
echo done
`

type result struct {
	status      int
	out, errors string
}

// ringfence runs one command in the world.
func ringfence(t *testing.T, w *world.World, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := w.Command(ctx, args...)
	cmd.Env = append(cmd.Env, "TOOL_MODE=fast")
	return finish(t, cmd)
}

func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// TestLearnThenPass: what is learnt and saved is what the command needs.
func TestLearnThenPass(t *testing.T) {
	w := world.New(t)
	w.Open(8080)
	w.Put("tool.sh", []byte(tool), 0o755)
	rc := filepath.Join(stage.Home, ".toolrc")
	if err := os.WriteFile(rc, []byte("greeting\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(rc) })
	if r := ringfence(t, w, "run", "--", "./tool.sh"); r.status != 3 {
		t.Fatalf("%+v: the control passes", r)
	}
	// Each session comes as far as what the one before it saved.
	for i, want := range []string{`"~/.toolrc",`, `"origin.example.com:443",`} {
		r := ringfence(t, w, "learn", "--save", "--", "./tool.sh")
		if r.status != 0 || !strings.Contains(r.out, want) {
			t.Fatalf("session %d: %+v", i, r)
		}
	}
	w.Forget()
	r := ringfence(t, w, "run", "--", "./tool.sh")
	if r.status != 0 || !strings.Contains(r.out, "origin origin.example.com ") || !strings.HasSuffix(r.out, "done\n") {
		t.Fatalf("it does not pass: %+v", r)
	}
	// The rule is no wider than what was seen.
	if r := ringfence(t, w, "run", "--", "curl", "-sS", "-f", "--max-time", "5", "http://origin.example.com/"); r.status == 0 {
		t.Errorf("another port is open too: %+v", r)
	}
}

// TestClosedWhileLearning: what is shut in every session is shut in this one, nobody is
// asked for its name, and nothing of it is proposed.
func TestClosedWhileLearning(t *testing.T) {
	w := world.New(t)
	w.Answer("rebind.example.com", []string{"10.0.0.1"})
	urls := []string{"http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://203.0.113.9/", "http://[fd00::1]/", "http://webhook.site/", "http://x.trycloudflare.com/",
		"http://dns.google/", "http://mine.s3.amazonaws.com/", "http://somebody.github.io/", "http://denied.example.com/", "http://printer.local/", "http://host.internal/", "http://intranet/", "http://rebind.example.com/"}
	script := ""
	for _, u := range urls {
		script += "curl -gsS -f --max-time 5 " + u + " && echo REACHED " + u + "; "
	}
	w.Forget()
	r := ringfence(t, w, "learn", "--json", "--deny-host", "denied.example.com", "--", "sh", "-c", script+"true")
	if r.status != 0 || strings.Contains(r.errors, "REACHED") {
		t.Fatalf("%+v", r)
	}
	for _, p := range w.Dialled() {
		t.Errorf("left the host: %+v", p)
	}
	for _, q := range w.Queries() {
		if q.Name != "rebind.example.com" {
			t.Errorf("was asked for: %+v", q)
		}
	}
	var got struct {
		Lines []struct{ Value string }
		Not   []struct{ What, Why string } `json:"not_proposed"`
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("%v: %s", err, r.out)
	}
	for _, l := range got.Lines {
		if strings.Contains(l.Value, ".") && !strings.HasPrefix(l.Value, "/etc") {
			t.Errorf("proposed: %s", l.Value)
		}
	}
	said := ""
	for _, n := range got.Not {
		said += n.What + " "
	}
	for _, host := range []string{"webhook.site", "x.trycloudflare.com", "dns.google", "mine.s3.amazonaws.com", "somebody.github.io", "denied.example.com", "rebind.example.com"} {
		if !strings.Contains(said, host) {
			t.Errorf("%s is not said to be left out: %s", host, said)
		}
	}
}

// TestControl: without learning an unknown host is shut; while learning it is open, and
// where somebody locked the network it is not.
func TestControl(t *testing.T) {
	w := world.New(t)
	get := []string{"--", "curl", "-sS", "-f", "--max-time", "5", "http://origin.example.com/"}
	for _, c := range []struct {
		args    []string
		reached bool
	}{
		{[]string{"run"}, false},
		{[]string{"learn"}, true},
		{[]string{"learn", "--net", "locked"}, false},
		{[]string{"learn", "--net", "none"}, false},
		{[]string{"learn", "--review"}, true},
	} {
		w.Forget()
		r := ringfence(t, w, append(c.args, get...)...)
		if got := strings.Contains(r.out, "origin origin.example.com"); got != c.reached {
			t.Errorf("%q: %+v", c.args, r)
		}
		if !c.reached && len(w.Dialled()) > 0 {
			t.Errorf("%q: %v", c.args, w.Dialled())
		}
		if proposed := strings.Contains(r.out, `"origin.example.com:`); proposed != (c.args[0] == "learn" && !strings.HasSuffix(strings.Join(c.args, " "), "none")) {
			t.Errorf("%q: proposed: %v: %s", c.args, proposed, r.out)
		}
		os.RemoveAll(filepath.Join(w.State, "ringfence/lessons"))
	}
}
