package netattack

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/tier"
	"ringfence.dev/ringfence/test/world"
)

// replayed holds every decision of a launch against the resolver of `ringfence why`:
// under the same flags it must decide the same.
func replayed(t *testing.T, w *world.World, args []string, records []journal.Record) {
	t.Helper()
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--verbose" || a == "--no-input" })
	r := w.Bare(slices.Concat([]string{stage.Ringfence, "policy", "test", "--replay", "--json"}, args)...)
	if r.Status != 0 || strings.TrimSpace(r.Stdout) != "[]" {
		t.Errorf("replayed, status %d: %s%s", r.Status, r.Stdout, r.Stderr)
	}
	told := w.Bare(slices.Concat([]string{stage.Ringfence, "policy", "test", "--replay"}, args)...)
	if decided := slices.ContainsFunc(records, isDecision); decided && strings.Contains(told.Stderr, ": 0 decisions") {
		t.Errorf("nothing was replayed: %s", told.Stderr)
	}
}

func isDecision(r journal.Record) bool { return r.Kind == journal.Net && r.Event == journal.Decision }

// asked asks why about every target that was refused before a byte was read. The users
// share them; where the same was asked under the same flags, it is not asked again.
func asked(t *testing.T, w *world.World, args []string, records []journal.Record) {
	t.Helper()
	passed := map[uint64]bool{}
	seen, flags := map[string]bool{}, strings.Join(args, " ")
	for _, r := range records {
		if !isDecision(r) {
			continue
		}
		if r.Verdict == journal.Allow {
			passed[r.Conn] = r.Conn != 0
		}
		past := why.Recall(r)
		if r.Verdict != journal.Deny || passed[r.Conn] || past.Kind != why.Host || r.Method != "" ||
			strings.HasPrefix(r.Rule, "strict ") || r.Rule == "own pool" || seen[past.Subject] {
			continue
		}
		seen[past.Subject] = true
		question := flags + " " + past.Subject
		if !tier.All() && answered[question] || !stage.Mine(int(crc32.ChecksumIEEE([]byte(past.Subject)))) {
			continue
		}
		answered[question] = true
		if why := refusedBy(w, args, r); why != "" {
			t.Errorf("%s %s was refused (%s: %s): %s", past.Access, past.Subject, r.Rule, r.Reason, why)
		}
	}
	if len(seen) < 20 {
		t.Errorf("asked about %d targets only", len(seen))
	}
}

// answered are the questions that asked has put.
var answered = map[string]bool{}

// refusedBy says what is wrong with an answer.
func refusedBy(w *world.World, args []string, rec journal.Record) string {
	past := why.Recall(rec)
	r := w.Bare(slices.Concat([]string{stage.Ringfence, "why", "--json", "--host"}, args, []string{"--", past.Subject})...)
	var a why.Answer
	if err := json.Unmarshal([]byte(r.Stdout), &a); err != nil {
		return fmt.Sprintf("why: %v: %s", err, r.Stderr)
	}
	f := a.Of(past.Access)
	if why.ForWords(rec, f) {
		return ""
	}
	if f == nil || f.Verdict == why.Allowed || !f.Ours || f.Rule == "" || f.Source == "" {
		return fmt.Sprintf("why says %+v", f)
	}
	return ""
}
