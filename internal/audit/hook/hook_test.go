package hook

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// ann is whose command lines are judged.
var ann = Where{Home: "/home/ann", Dir: "/home/ann/src/app", Git: func(string) Branches {
	return Branches{Current: "feat/x", Guarded: []string{"dev"}}
}}

// table reads one of the lists of command lines.
func table(t testing.TB, name string) []string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && line[0] != '#' {
			out = append(out, strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	return out
}

func TestDeny(t *testing.T) {
	rows := table(t, "deny.txt")
	if len(rows) < 120 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, row := range rows {
		rule, line, ok := strings.Cut(row, "\t")
		if !ok {
			t.Fatalf("no rule: %q", row)
		}
		if v := Judge(line, ann); v.Decision != Deny || v.Rule != rule || v.Reason == "" {
			t.Errorf("%q: %v %s (%s), want deny %s", line, v.Decision, v.Rule, v.Reason, rule)
		}
	}
}

func TestPass(t *testing.T) {
	rows := table(t, "pass.txt")
	if len(rows) < 120 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, line := range rows {
		if v := Judge(line, ann); v != (Verdict{}) {
			t.Errorf("%q: %v %s (%s)", line, v.Decision, v.Rule, v.Reason)
		}
	}
}

func TestAsk(t *testing.T) {
	for _, line := range table(t, "ask.txt") {
		if v := Judge(line, ann); v.Decision != Ask || v.Reason == "" {
			t.Errorf("%q: %v %s (%s), want ask", line, v.Decision, v.Rule, v.Reason)
		}
	}
}
