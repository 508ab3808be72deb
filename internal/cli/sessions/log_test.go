package sessions

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/journal"
)

// TestLogFits: on a terminal of 80 columns no line is longer, and to a pipe each record is one.
func TestLogFits(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	names, _ := journal.MakeNames(strings.Fields(strings.Repeat("SOME_VARIABLE_NAME ", 30)))
	for _, r := range []journal.Record{
		{Kind: journal.Session, Event: journal.Policy, Digest: "sha256:" + strings.Repeat("0123456789abcdef", 4)},
		{Kind: journal.Session, Event: journal.Env, State: "set", List: names},
		{Kind: journal.Net, Event: journal.Decision, Via: "connect", Protocol: "tls", Name: "registry.example.org", Port: 443, Verdict: journal.Deny, Rule: "mode dev", Source: "built in",
			Reason: "no rule allows this name", Command: "node", PID: 12},
		{Kind: journal.Work, Event: journal.Refused, Via: "write", Name: "/home/somebody/src/another-project/file", Verdict: journal.Deny, Reason: "it is not in the session's view", Command: "sh", PID: 9},
	} {
		r.Time = at
		line := logLine(r)
		if got := fitted(line, 0); got != line {
			t.Errorf("to a pipe: %s", got)
		}
		text := fitted(line, 80)
		for l := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > 80 {
				t.Errorf("%d columns: %s", n, l)
			}
		}
		if strings.Join(strings.Fields(text), " ") != strings.Join(strings.Fields(line), " ") {
			t.Errorf("%q is not %q", text, line)
		}
	}
}
