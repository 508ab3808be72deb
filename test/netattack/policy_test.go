package netattack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/world"
)

// patterns (PX-009): rules that are malformed, or wider than anybody can mean, refuse
// the launch, wherever they stand.
func patterns(t *testing.T, sum *summary) {
	sum.add(&row{id: "PX-009"})
	w := begin(t)
	allow := []string{"*", "*.com", "*.co.uk", "", " ", "https://", "https://x/", "x/path", "x:abc", "x:0", "x:99999", "*.*.x.test", "x*.test", "*x.test", "a.*.test", "xn--", "10.0.0.0/8", "10.0.0.1", "[::1]:80", "::1",
		"x..test", ".x.test", "-x.test", "x.test.", "user@x.test", "x.test:443:443", "x.test#", "x.test\x1b[31m", "x\ny.test", "GET x.test", "get http://x.test", "GET https://x.test", "ftp://x.test", "tcp://x.test",
		"http://x.test/a?b", "http://x.test/../a", "http://x.test/%2e", "127.0.0.1:80", "2130706433", "0x7f.1", "x.test,y.test"}
	for _, rule := range allow {
		refused(t, w, "--allow-host", rule)
		if !strings.ContainsAny(rule, "\x1b\n") {
			withPolicy(t, w, "[network]\nallow = ['"+rule+"']\n", func() { refused(t, w) })
		}
	}
	for _, ip := range []string{"0.0.0.0/0:80", "::/0:80", "[::/0]:80", "10.0.0.1", "10.0.0.1:0", "127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "[fd00:ec2::254]:80", "0.0.0.0:80", "224.0.0.1:80",
		"[::ffff:10.0.0.1]:80", "[64:ff9b::a00:1]:80", "198.18.0.1:80", "10.0.0.1/24:80", "x.test:80", "10.0.0.1:80-90", "10.0.0.1:*", "010.0.0.1:80", "10.1:80", "168.63.129.16:80"} {
		refused(t, w, "--allow-ip", ip)
	}
	for flag, values := range map[string][]string{
		"--net": {"wide", "", "dev,rust", "dev,+nosuch", "none,internet", "*"}, "--publish": {"0", "x", "3000:3000", "70000"}, "--host-port": {"0", "x", "1-2", "127.0.0.1:80"},
		"--proxy":     {"x", "ftp://x.test:1", "http://u:p@x.test:1", "http://x.test:1/p", "https://u:p@x.test:1", "https://x.test:1/p"},
		"--deny-host": {"*", "http://x.test", "10.0.0.1/24", "10.0.0.0/33", "010.0.0.1", "10.1", "10.0.0.1:0", "::ffff:10.0.0.1", "[::1", "fe80::1%eth0"},
	} {
		for _, v := range values {
			refused(t, w, flag, v)
		}
	}
	// A star over hosts that are denied to everybody is not what anybody gets.
	sum.add(&row{id: "EX-010"})
	for _, rule := range []string{"*.ngrok.io", "abc.trycloudflare.com", "webhook.site"} {
		refused(t, w, "--allow-host", rule)
	}
	if len(w.Dialled()) > 0 || len(w.Queries()) > 0 {
		t.Errorf("meanwhile: %v, %v", w.Dialled(), w.Queries())
	}
}

// refused wants a launch not to happen.
func refused(t *testing.T, w *world.World, args ...string) {
	t.Helper()
	r := w.Run(append(args, "--", "touch", filepath.Join(w.Dir, "ran"))...)
	if _, err := os.Stat(w.Wrote("ran")); err == nil {
		t.Errorf("%q: launched", args)
		os.Remove(w.Wrote("ran"))
	}
	if r.Status == 0 || !strings.Contains(r.Stderr, "error:") {
		t.Errorf("%q: status %d, %q", args, r.Status, r.Stderr)
	}
	if strings.Contains(r.Stderr, "\x1b") {
		t.Errorf("%q: what was written is shown as it is: %q", args, r.Stderr)
	}
}

// withPolicy runs something while the user has a policy file.
func withPolicy(t *testing.T, w *world.World, text string, run func()) string {
	t.Helper()
	dir := filepath.Join(w.State, "config/ringfence")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "policy.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	run()
	return path
}

// emptiness (PX-010): a policy that is empty, broken or not to be read opens nothing.
func emptiness(t *testing.T, sum *summary) {
	sum.add(&row{id: "PX-010"})
	w := begin(t)
	attempt := []string{"--", "sh", "-c", "touch ran; for h in denied.test " + denied4 + " origin.example.com; do curl -sS -m5 http://$h/; done"}
	for what, text := range map[string]string{
		"no list":            "[network]\n",
		"an empty list":      "[network]\nallow = []\n",
		"a list of nothing":  "[network]\nallow = ['']\n",
		"no mode":            "[network]\nmode = ''\n",
		"a mode of a number": "[network]\nmode = 5\n",
		"a broken file":      "[network\nallow = [\n",
		"an unknown key":     "[network]\nallowed = ['denied.test']\n",
		"an empty file":      "",
		"JSON":               `{"network": {"allow": ["denied.test"]}}`,
		"NUL bytes":          "\x00\x00\x00",
		"empty groups":       "[network]\ngroups = []\nallow = []\ndeny = []\n",
		"locked and empty":   "[network]\nmode = 'locked'\nallow = []\n",
	} {
		withPolicy(t, w, text, func() { nothingOpen(t, w, what, attempt) })
	}
	if os.Getuid() == 0 {
		return // root reads everything
	}
	withPolicy(t, w, "[network]\nmode = 'none'\n", func() {
		path := filepath.Join(w.State, "config/ringfence/policy.toml")
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		nothingOpen(t, w, "a file that cannot be read", attempt)
	})
}

func nothingOpen(t *testing.T, w *world.World, what string, attempt []string) {
	t.Helper()
	r := w.Run(attempt...)
	if strings.Contains(r.Stdout, "origin ") || len(w.Dialled()) > 0 || len(w.Queries()) > 0 {
		t.Errorf("%s: OPEN: %q, dialled %v, asked for %v", what, r.Stdout, w.Dialled(), w.Queries())
	}
	if _, err := os.Stat(w.Wrote("ran")); err != nil && !strings.Contains(r.Stderr, "error:") {
		t.Errorf("%s: it neither ran nor said why: %d, %q", what, r.Status, r.Stderr)
	}
	os.Remove(w.Wrote("ran"))
}
