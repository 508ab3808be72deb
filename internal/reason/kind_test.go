package reason_test

import (
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/reason"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		word string
		seen reason.Seen
		want reason.Kind // "": a question back
	}{
		{"/etc/passwd", reason.Seen{}, reason.Path}, {"~/.ssh", reason.Seen{}, reason.Path}, {"~", reason.Seen{}, reason.Path},
		{"./x", reason.Seen{}, reason.Path}, {"../x", reason.Seen{}, reason.Path}, {".", reason.Seen{}, reason.Path}, {"a/b", reason.Seen{}, reason.Path},
		{"example.org", reason.Seen{}, reason.Host}, {"example.org:22", reason.Seen{File: true}, ""}, {"10.0.0.1", reason.Seen{}, reason.Host},
		{"[::1]:80", reason.Seen{}, reason.Host}, {"::1", reason.Seen{}, reason.Host}, {"db:5432", reason.Seen{}, reason.Host}, {"localhost", reason.Seen{}, reason.Host},
		{"https://example.org/x", reason.Seen{}, reason.Host}, {"https://", reason.Seen{}, ""},
		{"HOME", reason.Seen{Variable: true}, reason.Env}, {"A_B", reason.Seen{}, reason.Env}, {"http_proxy", reason.Seen{Variable: true}, reason.Env},
		{"main.go", reason.Seen{File: true}, ""}, {"LICENSE", reason.Seen{File: true}, ""}, {"Makefile", reason.Seen{File: true}, reason.Path},
		{"Makefile", reason.Seen{}, ""}, {"db", reason.Seen{}, ""}, {"", reason.Seen{}, ""}, {"1A", reason.Seen{}, ""}, {"a b", reason.Seen{}, ""},
	} {
		got, err := reason.KindOf(c.word, c.seen)
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
		kind, err := reason.KindOf(word, reason.Seen{File: file, Variable: variable})
		if (err == nil) == (kind == "") {
			t.Fatalf("%q: %q %v", word, kind, err)
		}
		target, err := reason.Target(word)
		if err != nil {
			return
		}
		if target.Name == "" == !target.Addr.IsValid() {
			t.Fatalf("%q: %+v", word, target)
		}
		if target.Port == 0 {
			return
		}
		if again, err := reason.Target(target.String()); err != nil || again != target {
			t.Fatalf("%q: %+v became %+v: %v", word, target, again, err)
		}
	})
}

func TestRecall(t *testing.T) {
	for name, c := range map[string]struct {
		rec     journal.Record
		kind    reason.Kind
		subject string
		access  string
		refused bool
	}{
		"a name":     {journal.Record{Kind: journal.Net, Via: "dns", Name: "a.test", Verdict: journal.Deny}, reason.Host, "a.test", reason.Resolve, true},
		"a host":     {journal.Record{Kind: journal.Net, Via: "tcp", Name: "a.test", Addr: "192.0.2.1", Port: 22, Verdict: journal.Deny}, reason.Host, "a.test:22", reason.Connect, true},
		"an address": {journal.Record{Kind: journal.Net, Via: "tcp", Addr: "10.0.0.1", Port: 80, Verdict: journal.Deny}, reason.Host, "10.0.0.1:80", reason.Connect, true},
		"version 6":  {journal.Record{Kind: journal.Net, Via: "tcp", Addr: "fd00::1", Port: 80, Verdict: journal.Deny}, reason.Host, "[fd00::1]:80", reason.Connect, true},
		"no name":    {journal.Record{Kind: journal.Net, Via: "dns", Name: "a b", Verdict: journal.Deny}, "", "a b", reason.Resolve, true},
		"allowed":    {journal.Record{Kind: journal.Net, Via: "tcp", Name: "a.test", Port: 443, Verdict: journal.Allow}, reason.Host, "a.test:443", reason.Connect, false},
		"held":       {journal.Record{Kind: journal.Work, Event: journal.Held, Name: "/w/.envrc"}, reason.Path, "/w/.envrc", reason.Write, true},
		"masked":     {journal.Record{Kind: journal.Work, Event: journal.Masked, Name: "/w/.env"}, reason.Path, "/w/.env", reason.Read, true},
		"applied":    {journal.Record{Kind: journal.Work, Event: journal.Applied, Name: "/w/x", Verdict: journal.Allow}, reason.Path, "/w/x", reason.Write, false},
		"a push":     {journal.Record{Kind: journal.Broker, Via: "git", Name: "f.test", Verdict: journal.Deny, Reason: "no: refs/heads/main"}, reason.Push, "refs/heads/main", reason.ToPush, true},
		"a pull":     {journal.Record{Kind: journal.Broker, Via: "git", Name: "f.test", Verdict: journal.Deny, Reason: "other repositories"}, reason.Host, "f.test", reason.Connect, true},
		"a request":  {journal.Record{Kind: journal.Broker, Via: "api", Name: "f.test", Verdict: journal.Deny}, reason.Host, "f.test", reason.Connect, true},
		"a decoy":    {journal.Record{Kind: journal.Decoy, Event: journal.Sent, Secret: "aws", Verdict: journal.Deny}, "", "aws", "", true},
	} {
		got := reason.Recall(c.rec)
		if got.Kind != c.kind || got.Subject != c.subject || got.Access != c.access || reason.Refused(c.rec) != c.refused {
			t.Errorf("%s: %+v, refused %v", name, got, reason.Refused(c.rec))
		}
	}
}
