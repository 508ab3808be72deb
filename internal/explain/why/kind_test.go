package why_test

import (
	"testing"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/journal"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		word string
		seen why.Seen
		want why.Kind // "": a question back
	}{
		{"/etc/passwd", why.Seen{}, why.Path}, {"~/.ssh", why.Seen{}, why.Path}, {"~", why.Seen{}, why.Path},
		{"./x", why.Seen{}, why.Path}, {"../x", why.Seen{}, why.Path}, {".", why.Seen{}, why.Path}, {"a/b", why.Seen{}, why.Path},
		{"example.org", why.Seen{}, why.Host}, {"example.org:22", why.Seen{File: true}, ""}, {"10.0.0.1", why.Seen{}, why.Host},
		{"[::1]:80", why.Seen{}, why.Host}, {"::1", why.Seen{}, why.Host}, {"db:5432", why.Seen{}, why.Host}, {"localhost", why.Seen{}, why.Host},
		{"https://example.org/x", why.Seen{}, why.Host}, {"https://", why.Seen{}, ""},
		{"HOME", why.Seen{Variable: true}, why.Env}, {"A_B", why.Seen{}, why.Env}, {"http_proxy", why.Seen{Variable: true}, why.Env},
		{"main.go", why.Seen{File: true}, ""}, {"LICENSE", why.Seen{File: true}, ""}, {"Makefile", why.Seen{File: true}, why.Path},
		{"Makefile", why.Seen{}, ""}, {"db", why.Seen{}, ""}, {"", why.Seen{}, ""}, {"1A", why.Seen{}, ""}, {"a b", why.Seen{}, ""},
	} {
		got, err := why.KindOf(c.word, c.seen)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q %+v: %q %v, want %q", c.word, c.seen, got, err, c.want)
		}
	}
}

// For any word: it is of one kind or of none, and a host can be read as one.
func FuzzKindOf(f *testing.F) {
	for _, s := range []string{"a.b:1", "[::1]:2", "https://x.test:3/y", "http://[", "A", "~x", "::", "a:b:c", "xn--", "\x00.x"} {
		f.Add(s, true, false)
	}
	f.Fuzz(func(t *testing.T, word string, file, variable bool) {
		kind, err := why.KindOf(word, why.Seen{File: file, Variable: variable})
		if (err == nil) == (kind == "") {
			t.Fatalf("%q: %q %v", word, kind, err)
		}
		target, err := why.Target(word)
		if err != nil {
			return
		}
		if target.Name == "" == !target.Addr.IsValid() {
			t.Fatalf("%q: %+v", word, target)
		}
		if target.Port == 0 {
			return
		}
		if again, err := why.Target(target.String()); err != nil || again != target {
			t.Fatalf("%q: %+v became %+v: %v", word, target, again, err)
		}
	})
}

func TestRecall(t *testing.T) {
	for name, c := range map[string]struct {
		rec     journal.Record
		kind    why.Kind
		subject string
		access  string
		refused bool
	}{
		"a name":     {journal.Record{Kind: journal.Net, Via: "dns", Name: "a.test", Verdict: journal.Deny}, why.Host, "a.test", why.Resolve, true},
		"a host":     {journal.Record{Kind: journal.Net, Via: "tcp", Name: "a.test", Addr: "192.0.2.1", Port: 22, Verdict: journal.Deny}, why.Host, "a.test:22", why.Connect, true},
		"an address": {journal.Record{Kind: journal.Net, Via: "tcp", Addr: "10.0.0.1", Port: 80, Verdict: journal.Deny}, why.Host, "10.0.0.1:80", why.Connect, true},
		"version 6":  {journal.Record{Kind: journal.Net, Via: "tcp", Addr: "fd00::1", Port: 80, Verdict: journal.Deny}, why.Host, "[fd00::1]:80", why.Connect, true},
		"no name":    {journal.Record{Kind: journal.Net, Via: "dns", Name: "a b", Verdict: journal.Deny}, "", "a b", why.Resolve, true},
		"the proxy":  {journal.Record{Kind: journal.Net, Via: "tcp", Name: "a.test", Port: 443, Verdict: journal.Deny, Rule: journal.RuleUpstream}, "", "a.test:443", why.Connect, true},
		"allowed":    {journal.Record{Kind: journal.Net, Via: "tcp", Name: "a.test", Port: 443, Verdict: journal.Allow}, why.Host, "a.test:443", why.Connect, false},
		"a release":  {journal.Record{Kind: journal.Broker, Event: journal.Held, Via: "registry", Name: "npm", Reason: "lib 1.1.0 is held back"}, "", "npm", "", true},
		"a package":  {journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "registry", Name: "npm:hook", Verdict: journal.Deny, Rule: journal.RuleScripts}, "", "npm:hook", "", true},
		"held":       {journal.Record{Kind: journal.Work, Event: journal.Held, Name: "/w/.envrc"}, why.Path, "/w/.envrc", why.Write, true},
		"masked":     {journal.Record{Kind: journal.Work, Event: journal.Masked, Name: "/w/.env"}, why.Path, "/w/.env", why.Read, true},
		"applied":    {journal.Record{Kind: journal.Work, Event: journal.Applied, Name: "/w/x", Verdict: journal.Allow}, why.Path, "/w/x", why.Write, false},
		"a push":     {journal.Record{Kind: journal.Broker, Via: "git", Name: "f.test", Verdict: journal.Deny, Reason: "no: refs/heads/main"}, why.Push, "refs/heads/main", why.ToPush, true},
		"a pull":     {journal.Record{Kind: journal.Broker, Via: "git", Name: "f.test", Verdict: journal.Deny, Reason: "other repositories"}, why.Host, "f.test", why.Connect, true},
		"a request":  {journal.Record{Kind: journal.Broker, Via: "api", Name: "f.test", Verdict: journal.Deny}, why.Host, "f.test", why.Connect, true},
		"a decoy":    {journal.Record{Kind: journal.Decoy, Event: journal.Sent, Secret: "aws", Verdict: journal.Deny}, "", "aws", "", true},
	} {
		got := why.Recall(c.rec)
		if got.Kind != c.kind || got.Subject != c.subject || got.Access != c.access || why.Refused(c.rec) != c.refused {
			t.Errorf("%s: %+v, refused %v", name, got, why.Refused(c.rec))
		}
	}
}
