package company

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

const get = "curl -sS -m20 -o - -w ' %{http_code}' "

// TestByName: exact names and names by a star reach the proxy as names, by CONNECT, in
// the clear and by SOCKS5, with its login, and nothing is looked up here.
func TestByName(t *testing.T) {
	for kind, at := range map[string]string{"http": proxyAddr, "socks": socksAddr} {
		t.Run(kind, func(t *testing.T) {
			s := begin(t, kind, login).trusting()
			if r := s.bare(nil, get+"https://"+registry+"/"); r.status == 0 {
				t.Fatalf("control: the host finds it without the proxy: %s", r.out)
			}
			if r := s.bare(s.env, get+"--cacert "+s.ca+" https://"+registry+"/"); !strings.Contains(r.out, "origin "+registry) {
				t.Fatalf("control: it is not there: %s", r.out)
			}
			s.Forget()
			script := get + "https://" + registry + "/; " + get + "https://" + wide + "/; " + get + "http://" + registry + "/"
			r := s.run(script, "--allow-host", registry, "--allow-host", "*.wide.example.org")
			if strings.Count(r.out, "origin "+registry) != 2 || !strings.Contains(r.out, "origin "+wide) {
				t.Errorf("not reached:\n%s\nthe proxy was asked:\n%s", r.out, s.asked())
			}
			if !strings.Contains(r.out, "by proxy "+at+", which looks up names") {
				t.Errorf("the card does not say who looks names up:\n%s", r.out)
			}
			s.byName(at)
			if strings.Contains(s.asked(), "203.0.113.9") {
				t.Errorf("the proxy was asked for an address:\n%s", s.asked())
			}
		})
	}
}

// TestLogin: the proxy's login is nowhere inside, and in no record.
func TestLogin(t *testing.T) {
	s := begin(t, "http", login).trusting()
	// What is looked for is written in two parts, so that the script is not found itself.
	search := `W=CANARYproxy; X=cm9ib3Q6; env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; grep -rlsaE "${W}Word7|${X}Q0FOQVJZ" /.ringfence /etc /tmp /run "$HOME" . ; ` + get + "https://" + registry + "/"
	r := s.run(search, "--allow-host", registry)
	if !strings.Contains(r.out, "origin "+registry) {
		t.Fatalf("not reached: %s", r.out)
	}
	for _, word := range []string{password, "cm9ib3Q6Q0FOQVJZ", "robot"} {
		if strings.Contains(r.out, word) {
			t.Errorf("%q is inside:\n%s", word, r.out)
		}
	}
	err := filepath.WalkDir(s.State, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, _ := os.ReadFile(path); strings.Contains(string(b), password) {
				t.Errorf("%s has the login", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The control: the search finds what is there.
	if r := s.run("echo "+password+" > found; "+search, "--allow-host", registry); !strings.Contains(r.out, "./found\n") {
		t.Errorf("control: the search finds nothing:\n%s", r.out)
	}
}

// TestRefusals: what the proxy refuses is told as its refusal, to the client, in the
// journal, by why, and to a person; it is never called a rule of ours.
func TestRefusals(t *testing.T) {
	s := begin(t, "http", login).trusting()
	r := s.run(get+"http://"+blocked+"/; "+get+"https://"+blocked+"/", "--allow-host", blocked)
	if !strings.Contains(r.out, blocked+": the upstream proxy refuses this host (403)") || !strings.Contains(r.out, " 403") {
		t.Errorf("told:\n%s", r.out)
	}
	if got := s.denied(journal.RuleUpstream); len(got) != 1 || got[0].Name != blocked || !strings.Contains(got[0].Reason, "(403)") {
		t.Errorf("recorded: %+v", got)
	}
	if r := s.command(stage.Ringfence, s.env, "why", "--last", "--proxy", "env"); !strings.Contains(r.out, "the upstream proxy, which is not ringfence") || strings.Contains(r.out, "grant:") {
		t.Errorf("why says:\n%s", r.out)
	}
	s.env[0] = strings.Replace(s.env[0], password, "wrong", 1)
	if r := s.run(get+"https://"+registry+"/", "--allow-host", registry); !strings.Contains(r.out, registry+": the upstream proxy does not accept the login (407)") {
		t.Errorf("a wrong login:\n%s", r.out)
	}
	if r := s.run("curl -sS -i -m20 http://"+registry+"/", "--allow-host", registry); !strings.Contains(r.out, "reason: the upstream proxy does not accept the login (407)") || strings.Contains(r.out, "Proxy-Authenticate") {
		t.Errorf("a wrong login, in the clear:\n%s", r.out)
	}
	s.env[0] = "HTTPS_PROXY=http://" + proxyAddr
	if r := s.run(get+"https://"+registry+"/", "--allow-host", registry); !strings.Contains(r.out, registry+": the upstream proxy wants a login (407)") {
		t.Errorf("no login:\n%s", r.out)
	}
	s.env[0] = "HTTPS_PROXY=http://" + socksAddr // nobody is there
	if r := s.run(get+"https://"+registry+"/", "--allow-host", registry); strings.Contains(r.out, "origin") {
		t.Errorf("past a proxy that is not there:\n%s", r.out)
	}
	for _, p := range s.Dialled() {
		if a := p.Addr.String(); a != "203.0.113.30" && a != "203.0.113.31" {
			t.Errorf("dialled past the proxy: %+v", p)
		}
	}
}

// TestProxyResolves: who looks up what. A name that a rule allows is the proxy's, and
// leads where the proxy says, also to an internal address; docs/threat-model.md says so.
// What stands for the proxy itself or for a cloud's metadata is not asked for. What only
// the mode allows is looked up here and judged.
func TestProxyResolves(t *testing.T) {
	s := begin(t, "http", "-").trusting()
	s.Answer("inner.example.org", []string{"10.0.0.1"})
	for _, name := range []string{inside, "metadata.google.internal"} {
		if r := s.bare(s.env, get+"-k https://"+name+"/"); !strings.Contains(r.out, "origin "+name) {
			t.Fatalf("control: the proxy does not lead to %s: %s", name, r.out)
		}
	}
	before := s.asked()
	r := s.run(get+"-k https://"+inside+"/; "+get+"-k https://metadata.google.internal/; "+get+"http://metadata.google.internal/; "+get+"http://10.0.0.1/",
		"--allow-host", inside, "--allow-host", "metadata.google.internal")
	if !strings.Contains(r.out, "origin "+inside+" 10.0.0.1") {
		t.Errorf("a name that a rule allows is not left to the proxy:\n%s", r.out)
	}
	asked := strings.TrimPrefix(s.asked(), before)
	for _, no := range []string{"metadata", "10.0.0.1"} {
		if strings.Contains(asked, no) {
			t.Errorf("the proxy was asked for %s:\n%s", no, asked)
		}
	}
	before = s.asked()
	r = s.run(get+"-k https://"+world.Public+"/; "+get+"http://inner.example.org/; "+get+"http://"+registry+"/", "--net", "internet")
	asked = strings.TrimPrefix(s.asked(), before)
	if !strings.Contains(asked, "CONNECT 203.0.113.22:443 403") && !strings.Contains(asked, "CONNECT [2001:db8::22]:443 403") || strings.Contains(asked, "example.org") || strings.Contains(asked, "10.0.0.1") {
		t.Errorf("what only the mode allows is asked for as\n%s", asked)
	}
	for _, want := range []string{"the address is a private network", "looks up only what a rule names"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("nobody is told %q:\n%s", want, r.out)
		}
	}
}

// TestNoProxy: what NO_PROXY names is dialled from here, and judged as ever.
func TestNoProxy(t *testing.T) {
	s := begin(t, "http", "-").trusting()
	s.Answer("near.example.org", []string{"203.0.113.95"})
	s.Answer("inner.example.org", []string{"10.0.0.1"})
	s.env = append(s.env, "NO_PROXY=near.example.org:443, .inner.example.org,<local>")
	r := s.run(get+"https://near.example.org/; "+get+"http://inner.example.org/", "--allow-host", "near.example.org", "--allow-host", "inner.example.org")
	if !strings.Contains(r.out, "origin near.example.org 203.0.113.95") || strings.Contains(r.out, "origin inner") || !strings.Contains(r.out, "a private network") {
		t.Errorf("%s", r.out)
	}
	if !strings.Contains(r.out, `NO_PROXY: "<local>"`) {
		t.Errorf("an entry that nobody reads is not named:\n%s", r.out)
	}
	if asked := s.asked(); asked != "" {
		t.Errorf("the proxy was asked:\n%s", asked)
	}
	// The control: without the list the proxy is asked, and knows neither.
	s.env = s.env[:len(s.env)-1]
	s.run(get+"https://near.example.org/; "+get+"http://inner.example.org/", "--allow-host", "near.example.org", "--allow-host", "inner.example.org")
	if asked := s.asked(); !strings.Contains(asked, "CONNECT near.example.org:443 403") || !strings.Contains(asked, "inner.example.org") {
		t.Errorf("control: the proxy was asked:\n%s", asked)
	}
}

// TestSecureProxy: a proxy that is reached within TLS is asked for names, with the login, if
// its certificate is believed; if not, that is said.
func TestSecureProxy(t *testing.T) {
	s := begin(t, "https", login)
	script := get + "https://" + registry + "/; " + get + "http://" + registry + "/"
	if r := s.run(script, "--allow-host", registry); strings.Contains(r.out, "origin") || !strings.Contains(r.out, "its certificate is not believed") {
		t.Errorf("control: without the certificate:\n%s", r.out)
	}
	s.trusting()
	r := s.run(script, "--allow-host", registry)
	if strings.Count(r.out, "origin "+registry) != 2 || strings.Contains(r.out, password) {
		t.Errorf("not reached:\n%s\nthe proxy was asked:\n%s", r.out, s.asked())
	}
	s.byName(secureAddr)
	if r := s.run(get+"https://"+blocked+"/", "--allow-host", blocked); !strings.Contains(r.out, "the upstream proxy refuses this host (403)") {
		t.Errorf("refused by the proxy:\n%s", r.out)
	}
}
