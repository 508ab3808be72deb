package gate

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
)

// TestUnwrittenIsTold: a person hears of the first record that cannot be written, and the
// end of the session of all of them.
func TestUnwrittenIsTold(t *testing.T) {
	for what, c := range map[string]struct {
		writes int
		opened bool
		want   string
	}{
		"nothing":            {0, false, ""},
		"two records":        {2, false, "2 records could not be written; what they were about was refused, or had ended"},
		"the end of an open": {1, true, "the journal cannot be written"},
	} {
		book := journal.Create(t.TempDir(), session)
		book.Close()
		alarms := 0
		r := &recorder{journal: book, alarm: func(error) { alarms++ }}
		for range c.writes {
			if err := r.write(journal.Record{Event: journal.Decision}); err == nil {
				t.Errorf("%s: a closed journal takes a record", what)
			}
		}
		err := r.close(c.opened)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: closed with %v", what, err)
		}
		if want := min(1, c.writes); alarms != want {
			t.Errorf("%s: %d alarms", what, alarms)
		}
	}
}

// TestRefusalsAreCounted: the same refusal is written once, and the rest of them with
// their number at the end; the tally has all.
func TestRefusalsAreCounted(t *testing.T) {
	g, records := recording(t, Config{})
	for range 5 {
		g.records.refuseNow(journal.Record{Event: journal.Decision, Via: "dns", Name: "a.test", Reason: "no"})
	}
	lines := g.Tally(9)
	got := records()
	if len(got) != 2 || got[0].Count != 0 || got[1].Count != 4 || got[0].Verdict != journal.Deny || got[0].Kind != journal.Net {
		t.Errorf("recorded %+v", got)
	}
	if len(lines) != 1 || lines[0].Denied != 5 {
		t.Errorf("counted %+v", lines)
	}
}
