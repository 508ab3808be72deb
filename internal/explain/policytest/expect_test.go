package policytest

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
)

func TestParse(t *testing.T) {
	f, err := Parse("t", []byte("# head\r\nagent claude\n\tflags --net locked --ro ~/x\n\n"+
		"deny read ~/.ssh/**  # keys\nallow  connect   api.example.org:443\nhold write .git/hooks/**\n"+
		"deny read a b #c\ndeny read x#y\ndeny env A_B\ndeny push main\ndeny connect [::1]:80\n"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Agent != "claude" || !slices.Equal(f.Flags, []string{"--net", "locked", "--ro", "~/x"}) {
		t.Errorf("agent %q, flags %q", f.Agent, f.Flags)
	}
	var got []string
	for _, l := range f.Lines {
		below := ""
		if l.Below {
			below = "+"
		}
		got = append(got, string(l.Want)+" "+l.Access+" "+l.Subject+below+" "+l.Source.String())
	}
	want := []string{"deny read ~/.ssh+ t:5", "allow connect api.example.org:443 t:6", "hold write .git/hooks+ t:7",
		"deny read a b t:8", "deny read x#y t:9", "deny env A_B t:10", "deny push main t:11", "deny connect [::1]:80 t:12"}
	if !slices.Equal(got, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "t: there is nothing to test in it",
		"frob read x":                   `t:1: "frob" is none of deny, allow, hold, agent, flags`,
		"deny":                          "t:1: deny what?",
		"deny read":                     "t:1: deny what?",
		"deny reed x":                   `t:1: "reed" is none of read`,
		"hold read x":                   "t:1: only writes are held",
		"deny read *":                   "t:1: a star stands only at the end",
		"deny read ~/**/x":              "t:1: a star stands only at the end",
		"deny read /**":                 "t:1: that is everything",
		"deny read ~":                   "t:1: that is everything",
		"deny read ~root/x":             "t:1: write ~/PATH",
		"deny read ../x":                "t:1: a path is absolute",
		"deny connect example.org":      "t:1: a connection has a port",
		"deny connect a b:1":            "t:1: ",
		"deny connect :80":              "t:1: ",
		"deny resolve a.test:80":        "t:1: what is resolved is a name",
		"deny resolve 10.0.0.1":         "t:1: what is resolved is a name",
		"deny env A-B":                  "t:1: ",
		"deny env A B":                  "t:1: ",
		"deny push ma*n":                "t:1: one branch by its name",
		"deny push a b":                 "t:1: ",
		"deny push refs/x y":            "t:1: this is no name of a ref",
		"agent":                         "t:1: agent says nothing",
		"agent a\nagent b":              "t:2: agent is said twice",
		"agent a b":                     "t:1: one agent",
		"flags --x\nflags --y":          "t:2: flags is said twice",
		"flags 'a b'":                   "t:1: words of flags have no quotes",
		"deny read x\nagent a":          "t:2: agent stands above all tests",
		"deny read x\x00":               "t:1: the line is longer than",
		"deny read \u202ex":             "t:1: the line is longer than",
		"deny read \xff":                "t:1: the line is longer than",
		strings.Repeat("#", 1<<19):      "t: larger than",
		"#" + strings.Repeat("x", 5000): "t:1: the line is longer than",
	} {
		_, err := Parse("t", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%.40q: %v\nwant %s", text, err, want)
		}
	}
	_, err := Parse("t", []byte("\n  deny  reed ~/.ssh # keys"))
	const shown = "t:2: \"reed\" is none of read, write, exec, connect, resolve, env, push\n    2 |   deny  reed ~/.ssh # keys\n      |         ^~~~"
	if err == nil || err.Error() != shown {
		t.Errorf("error\n%v\nwant\n%s", err, shown)
	}
}

func TestWants(t *testing.T) {
	all := []why.Verdict{why.Allowed, why.Denied, why.Held, why.Absent, why.Private}
	for want, met := range map[Want][]why.Verdict{
		Deny:  {why.Denied, why.Held, why.Absent, why.Private},
		Allow: {why.Allowed, why.Private},
		Hold:  {why.Held},
	} {
		for _, v := range all {
			if want.met(v) != slices.Contains(met, v) {
				t.Errorf("%s is met by %s: %v", want, v, want.met(v))
			}
		}
	}
}

// A sandbox that does not do what was said of it fails the test, whatever the line wants.
func TestALiveDifferenceFails(t *testing.T) {
	for said, reached := range map[why.Verdict]bool{why.Denied: true, why.Allowed: false} {
		results := []Result{{Pass: true, Cases: []Case{{Subject: "A", Pass: true, Finding: why.Finding{Verdict: said}}}}}
		f := &File{Lines: []Line{{Access: why.Pass, Subject: "A"}}}
		trial := f.NewTrial(results, nil)
		if len(trial.Asks) != 1 {
			t.Fatalf("asks %v", trial.Asks)
		}
		trial.Judge([]Met{{OK: reached, Digest: Digest("v")}}, nil, func(string) string { return "v" })
		if Settle(results); results[0].Pass || !results[0].Cases[0].Live.Differs {
			t.Errorf("said %s, reached %v: it passes", said, reached)
		}
	}
	results := []Result{{Pass: true, Cases: []Case{{Subject: "A", Pass: true, Finding: why.Finding{Verdict: why.Denied}}}}}
	f := &File{Lines: []Line{{Access: why.Pass, Subject: "A"}}}
	trial := f.NewTrial(results, nil)
	trial.Judge([]Met{{OK: true, Digest: Digest("another")}}, nil, func(string) string { return "v" })
	if Settle(results); !results[0].Pass {
		t.Error("a value that is not the launcher's counts as its own")
	}
}

func TestConnectionsAreJudgedByTheJournal(t *testing.T) {
	records := []journal.Record{
		{Kind: journal.Net, Event: journal.Decision, Via: "dns", Name: "a.test", Verdict: journal.Allow},
		{Kind: journal.Net, Event: journal.Decision, Via: "tcp", Name: "b.test", Port: 443, Verdict: journal.Allow},
		{Kind: journal.Net, Event: journal.Decision, Via: "tcp", Name: "c.test", Port: 443, Verdict: journal.Deny},
	}
	for subject, want := range map[string]bool{"a.test:443": false, "b.test:443": true, "b.test:80": false, "c.test:443": false} {
		if passed(subject, records) != want {
			t.Errorf("%s passed: %v", subject, !want)
		}
	}
}

func TestDecodeMet(t *testing.T) {
	for _, text := range []string{"", "[]", "[{}", `[{"ok":1}]`, `[{},{}]`, `{}`} {
		if _, err := DecodeMet([]byte(text), 1); err == nil {
			t.Errorf("%s is an answer", text)
		}
	}
	if met, err := DecodeMet([]byte(`[{"ok":true}]`), 1); err != nil || !met[0].OK {
		t.Errorf("%v %v", met, err)
	}
}
