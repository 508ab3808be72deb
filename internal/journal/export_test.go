package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// secretWords stand in every field of some record, and must not be in a redacted one.
var secretWords = []string{"alice", "acme", "vault", "corp", "10.1.2.3", "fe80::7"}

func telltale() []Record {
	list := func(names ...string) Names { n, _ := MakeNames(names); return n }
	return []Record{
		{Kind: Session, Event: Begin, Name: "acme", Command: "/home/alice/bin/tool", Agent: "claude", List: list("/home/alice/acme", "/srv/acme/x")},
		{Kind: Session, Event: Policy, Digest: "sha256:acme", List: list("/home/alice/.config/ringfence/policy.toml", "flag --ro")},
		{Kind: Session, Event: Env, State: "added", List: list("ACME_TOKEN_acme", "vault_key")},
		{Kind: Session, Event: Env, State: "set", List: list("HOME", "VAULT_TOKEN")},
		{Kind: Session, Event: Granted, State: "read", Source: "/home/alice/.config/ringfence/policy.toml", List: list("/home/alice/acme", "/var/lib/acme")},
		{Kind: Session, Event: Granted, State: "allow", Source: "flag --allow-host", List: list("git.acme.corp", "*.acme.corp:8443", "vault")},
		{Kind: Net, Event: Decision, Name: "git.acme.corp", Addr: "10.1.2.3", Port: 443, Rule: "*.acme.corp", Source: "/home/alice/p.toml:7", Reason: "dial tcp 10.1.2.3:443: alice@vault refused, see /home/alice/x"},
		{Kind: Net, Event: Decision, Name: "vault", Addr: "fe80::7", Verdict: Deny, Rule: "mode dev", Reason: "no rule allows this name", Command: "alice-tool"},
		{Kind: Broker, Event: Use, Name: "git.acme.corp", Secret: "vault-token", Rule: "acme/site", Reason: "commit for acme"},
		{Kind: Decoy, Event: Sent, Name: "acme.corp", Secret: "vault", Reason: "acme in a header"},
		{Kind: Work, Event: Held, Name: "/home/alice/acme/.git/hooks/post-commit", Reason: "git at the next commit"},
		{Kind: Work, Event: Waits, State: "unasked", List: list("/home/alice/acme/.vscode/tasks.json")},
		{Kind: Work, Event: Brake, Name: "@acme/lib", Rule: "/home/alice/p.toml:3"},
		{Kind: Work, Event: Exec, Name: "/home/alice/bin/x"},
	}
}

func TestRedact(t *testing.T) {
	d := NewRedactor("/home/alice", []string{"alice"}, func(h string) bool { return h == "public.test" })
	var all []Record
	for _, r := range telltale() {
		r.Prev = Hash{7}
		got := d.Record(r)
		line := strings.ToLower(string(got.AppendJSON(nil)))
		for _, word := range secretWords {
			if strings.Contains(line, word) {
				t.Errorf("%q is in %s", word, line)
			}
		}
		if got.Prev != (Hash{}) || got.Kind != r.Kind || got.Event != r.Event || len(got.List.All()) != len(r.List.All()) {
			t.Errorf("%+v", got)
		}
		all = append(all, got)
	}
	// The same word is the same pseudonym, and the shape of paths stays.
	if host := all[6].Name; host == "" || host != all[8].Name || !strings.HasPrefix(host, "host-") {
		t.Errorf("%q and %q", host, all[8].Name)
	}
	if a, b := all[0].List.All()[0], all[10].Name; !strings.HasPrefix(a, "~/x-") || !strings.HasPrefix(b, a+"/.git/hooks/post-commit") {
		t.Errorf("%q and %q", a, b)
	}
	if r := all[7]; r.Rule != "mode dev" || r.Reason != "no rule allows this name" || r.Verdict != Deny {
		t.Errorf("our own words are gone: %+v", r)
	}
	if r := d.Record(Record{Kind: Net, Event: Decision, Name: "public.test", Rule: "public.test", Via: "tcp", Sent: 7}); r.Name != "public.test" || r.Rule != "public.test" || r.Sent != 7 {
		t.Errorf("what everybody knows is gone: %+v", r)
	}
	if again := NewRedactor("/home/alice", nil, func(string) bool { return false }).Record(telltale()[6]); again.Name == all[6].Name {
		t.Error("two exports have the same pseudonyms")
	}
}

// TestRedactKnowsAllFields: a field that is added to a record must be thought of here.
func TestRedactKnowsAllFields(t *testing.T) {
	known := []string{"V", "Seq", "Time", "Session", "Prev", "Kind", "Event", "Conn", "Via", "Protocol", "Name", "Addr", "Port", "Method", "Secret", "Verdict",
		"Rule", "Source", "Reason", "Sent", "Received", "PID", "Command", "State", "Mode", "Count", "Agent", "Version", "Digest", "Code", "List"}
	for f := range reflect.TypeFor[Record]().Fields() {
		if !slices.Contains(known, f.Name) {
			t.Errorf("what does Redactor do with %s?", f.Name)
		}
	}
}

// TestOTLP holds the export against the JSON mapping of OTLP: 64-bit numbers are
// strings of digits, enums are numbers, every value has one kind, keys are unique.
func TestOTLP(t *testing.T) {
	var b bytes.Buffer
	o := NewOTLP(&b, Exported{Session: session, Version: "1", Redacted: true, Records: 601})
	r := Record{Seq: 1, Time: noon, Kind: Net, Event: Decision, Conn: 1 << 60, Name: "api.test", Port: 443, Verdict: Deny, Count: 3}
	r.List, _ = MakeNames([]string{"a", "b"})
	for range 601 {
		if err := o.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d messages", len(lines))
	}
	n := 0
	for _, line := range lines {
		var got struct {
			ResourceLogs []struct {
				Resource  struct{ Attributes []map[string]any }
				ScopeLogs []struct {
					Scope      struct{ Name string }
					LogRecords []struct {
						TimeUnixNano   string
						SeverityNumber float64
						EventName      string
						Body           map[string]string
						Attributes     []struct {
							Key   string
							Value map[string]any
						}
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		for _, rec := range got.ResourceLogs[0].ScopeLogs[0].LogRecords {
			n++
			seen := map[string]any{}
			for _, a := range rec.Attributes {
				if len(a.Value) != 1 || seen[a.Key] != nil {
					t.Fatalf("%s: %v", a.Key, a.Value)
				}
				seen[a.Key] = a.Value
			}
			if rec.TimeUnixNano != "1772622000123456789" || rec.SeverityNumber != severityWarn || rec.EventName != "ringfence.net.decision" ||
				!reflect.DeepEqual(seen["ringfence.conn"], map[string]any{"intValue": "1152921504606846976"}) ||
				!reflect.DeepEqual(seen["ringfence.name"], map[string]any{"stringValue": "api.test"}) {
				t.Fatalf("%+v", rec)
			}
		}
	}
	if n != 601 {
		t.Errorf("%d records", n)
	}
}

// TestSplit: a list that does not fit one record is split, and nothing of it is lost.
func TestSplit(t *testing.T) {
	var names []string
	for i := range 3000 {
		names = append(names, "/srv/"+strings.Repeat("é", i%50))
	}
	w, dir := create(t, session)
	records := Split(Record{Kind: Work, Event: Waits, State: "unasked"}, names)
	for _, r := range records {
		write(t, w, r)
	}
	got, bad := all(t, dir, session)
	var back []string
	for _, r := range got {
		back = append(back, r.List.All()...)
	}
	if len(records) < 10 || len(bad) != 0 || !slices.Equal(back, names) {
		t.Errorf("%d records, %v, %d names back", len(records), bad, len(back))
	}
	if one := Split(Record{}, nil); len(one) != 1 || one[0].List.All() != nil {
		t.Errorf("%+v", one)
	}
	long := strings.Repeat("x", 5000)
	if n, fit := MakeNames([]string{long}); fit != 1 || !strings.HasSuffix(n.All()[0], cutMark) || len(n.All()[0]) > maxName {
		t.Errorf("%d, %q", fit, n)
	}
}

// TestRedactAgentsWords: what the agent can choose freely does not stay.
func TestRedactAgentsWords(t *testing.T) {
	d := NewRedactor("/home/alice", []string{"alice"}, func(string) bool { return false })
	for _, r := range []Record{
		{Kind: Net, Event: Decision, Command: "acmeclient"},
		{Kind: Net, Event: Decision, Command: "acme client"},
		{Kind: Net, Event: Listen, Command: "curl-acme"},
		{Kind: Broker, Event: Use, Method: "ACMEGET"},
		{Kind: Work, Event: Exec, Name: "acmetool"},
		{Kind: Session, Event: Begin, Command: "acmecorp"},
	} {
		got := d.Record(r)
		if line := strings.ToLower(string(got.AppendJSON(nil))); strings.Contains(line, "acme") {
			t.Errorf("%s", line)
		}
	}
	for _, name := range []string{"curl", "git", "node", "python3"} {
		if r := d.Record(Record{Kind: Net, Event: Decision, Command: name, Method: "GET"}); r.Command != name || r.Method != "GET" {
			t.Errorf("what everybody has is gone: %+v", r)
		}
	}
}

// TestOTLPIsASCII: what is printed can be shown on a terminal as it is.
func TestOTLPIsASCII(t *testing.T) {
	var b bytes.Buffer
	o := NewOTLP(&b, Exported{Session: session, Version: "1\u009b2", Records: 1})
	r := Record{Kind: Work, Event: Held, Name: "a\u009b31m\x7f\x1b\u202e\U0001f600<é\u2028", Reason: "bad \xff\xfe"}
	r.List, _ = MakeNames([]string{"\u0090x\x7f"})
	if err := errors.Join(o.Write(r), o.Flush()); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(strings.TrimSuffix(b.String(), "\n"), func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		t.Errorf("byte %d of %q", i, b.String())
	}
	var got any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || !strings.Contains(fmt.Sprint(got), "a\u009b31m\x7f\x1b\u202e\U0001f600<é\u2028") {
		t.Errorf("%v, %v", got, err)
	}
}
