package ssh

import (
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/work"
)

// held are the checks that no other machine can lie about: all others are its word.
var held = []string{"workspace", "gate-loopback", "gate-own", "control", "reach", "death", "gate-broker", "held", "git", "undo", "link", "link-end"}

func TestVerify(t *testing.T) {
	w := newWorld(t)
	r := w.ringfence("verify", "--rung", "ssh:box", "--json")
	var report verify.Report
	w.json(r.out, &report)
	work.Pages(t)["ssh"].Compare(t, report)
	if r.status != 1 || len(report.Rows) < 60 {
		t.Errorf("status %d, %d checks", r.status, len(report.Rows))
	}
	for _, row := range report.Rows {
		want := verify.Partly
		if slices.Contains(held, row.Name) {
			want = verify.Held
		}
		if slices.Contains([]string{"kernel", "nic", "share"}, row.Name) {
			want = verify.NotApplied
		}
		if row.Result != want {
			t.Errorf("%s is %s, not %s: %s", row.Name, row.Result, want, row.Detail)
		}
	}
}

func TestDoctor(t *testing.T) {
	w := newWorld(t)
	r := w.ringfence("doctor", "--rung", "ssh:box", "--json")
	var report struct {
		Rung    string
		Results []struct{ Name, Status, Detail string }
	}
	w.json(r.out, &report)
	if r.status > 1 || report.Rung != "ssh" || len(report.Results) < 10 {
		t.Errorf("status %d, rung %q, %d results", r.status, report.Rung, len(report.Results))
	}
	for _, row := range report.Results {
		if row.Status != "ok" && row.Name != "limits" {
			t.Errorf("%s is %s: %s", row.Name, row.Status, row.Detail)
		}
	}
}
