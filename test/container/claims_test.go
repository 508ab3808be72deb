package container

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
)

// setting finds what a message tells the user to set.
var setting = regexp.MustCompile(`[a-z-]+=unconfined`)

// settings lists what a text names, each once.
func settings(text string) []string {
	found := setting.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// refuses: with less than is needed nothing runs, and what is named is what is
// missing, no more and no less.
func refuses(t *testing.T, e *engine, uid string, given, missing []string) {
	r := e.run(t, uid, given, "run", "--", "sh", "-c", "echo it-ran; touch it-ran")
	if r.status != 125 {
		t.Errorf("run: status %d, want 125", r.status)
	}
	if r.stdout != "" {
		t.Errorf("run: something ran: %q", r.stdout)
	}
	if got := settings(r.stderr); !slices.Equal(got, missing) {
		t.Errorf("run names %q, want %q", got, missing)
	}
	r = e.run(t, uid, given, "doctor")
	if r.status != 2 {
		t.Errorf("doctor: status %d, want 2", r.status)
	}
	if got := settings(r.stdout); !slices.Equal(got, missing) {
		t.Errorf("doctor names %q, want %q", got, missing)
	}
}

// runs: the command runs as the same user, in the workspace, behind the walls.
func runs(t *testing.T, e *engine, uid string) {
	const look = `id -u; pwd; touch written && cat written
[ -e /.dockerenv ] && echo "the container shows"
while read -r key value; do case $key in CapBnd:|NoNewPrivs:|Seccomp:) echo "$key $value";; esac; done </proc/self/status`
	r := e.run(t, uid, needed, "run", "--", "sh", "-c", look)
	want := fmt.Sprintf("%s\n%s\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n", uid, workspace)
	if r.status != 0 || r.stdout != want {
		t.Errorf("status %d, stdout %q, want %q", r.status, r.stdout, want)
	}
}

// isHealthy: every wall stands. Limits may be the container's own business.
func isHealthy(t *testing.T, e *engine, uid string) {
	r := e.run(t, uid, needed, "doctor", "--json")
	var report struct {
		Verdict string
		Results []struct{ Name, Status string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if r.status > 1 || len(report.Results) == 0 {
		t.Errorf("status %d, %d results", r.status, len(report.Results))
	}
	for _, row := range report.Results {
		if row.Status != "ok" && row.Name != "limits" {
			t.Errorf("%s is %s", row.Name, row.Status)
		}
	}
}

// holds: every check of verify. None may be waived: nothing was asked for less.
func holds(t *testing.T, e *engine, uid string) {
	r := e.run(t, uid, needed, "verify", "--json")
	var report struct {
		Rows []struct{ Name, Result, Detail string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if r.status != 0 || len(report.Rows) < 24 {
		t.Errorf("status %d, %d checks", r.status, len(report.Rows))
	}
	for _, row := range report.Rows {
		if row.Result != "held" && (row.Result != "n/a" || !slices.Contains([]string{"kernel", "link", "link-end", "nic", "share"}, row.Name)) {
			t.Errorf("%s is %s: %s", row.Name, row.Result, row.Detail)
		}
	}
}
