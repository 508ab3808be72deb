package checks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/audit/drill"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
)

func TestChosenDrills(t *testing.T) {
	all := drill.All()
	if got, err := chosenDrills([]string{"all"}); err != nil || len(got) != len(all) {
		t.Errorf("%d of %d, %v", len(got), len(all), err)
	}
	if got, err := chosenDrills([]string{all[1].Name, all[0].Name}); err != nil || len(got) != 2 || got[0].Name != all[1].Name {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := chosenDrills([]string{all[0].Name, "frobnicate"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a drill that there is not: %v", err)
	}
}

// TestReachable: a drill asks policy what is open before it calls a wall missing.
func TestReachable(t *testing.T) {
	for _, c := range []struct {
		text, host string
		port       uint16
		open       bool
	}{
		{"mode = \"locked\"", "thief.example", 443, false},
		{"mode = \"internet\"", "thief.example", 443, true},
		{"mode = \"internet\"", "169.254.169.254", 80, false},
		{"mode = \"locked\"\nallow = [\"thief.example\"]", "thief.example", 443, true},
		{"mode = \"locked\"\nallow = [\"thief.example:8443\"]", "thief.example", 443, false},
		{"mode = \"locked\"\nallow = [\"*.thief.example\"]", "www.thief.example", 443, true},
		{"mode = \"locked\"\nallow = [\"*.thief.example\"]", "thief.example", 443, false},
		{"mode = \"locked\"\nip = [\"10.1.0.0/16:80\"]", "10.1.2.3", 80, true},
		{"mode = \"locked\"\nip = [\"10.1.0.0/16:80\"]", "10.1.2.3", 443, false},
		{"mode = \"locked\"\nip = [\"10.1.0.0/16:80\"]", "11.1.2.3", 80, false},
	} {
		p, err := policy.Decode(strings.NewReader("[network]\n"+c.text+"\n"), "test.toml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Reach(nil)
		if err != nil {
			t.Fatal(err)
		}
		if why, open := reachable(r, c.host, c.port); open != c.open || open != (why != "") {
			t.Errorf("%s: %s:%d is %v, %q", c.text, c.host, c.port, open, why)
		}
	}
}

// TestProjectAt: the repository around a directory, or the directory; home only for who
// names it.
func TestProjectAt(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(home, "plain")
	if err := os.MkdirAll(plain, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(home)
	for _, c := range [][2]string{{"", ""}, {".", home}, {"plain", plain}, {home, home}} {
		if got, err := projectAt(c[0], home); err != nil || got != c[1] {
			t.Errorf("%q is %q, %v", c[0], got, err)
		}
	}
	t.Chdir(plain)
	if got, err := projectAt("", home); err != nil || got != plain {
		t.Errorf("in a directory of home it is %q, %v", got, err)
	}
	if _, err := projectAt("absent", home); fault.KindOf(err) != fault.Usage {
		t.Errorf("a directory that there is not: %v", err)
	}
}

// TestWithin: an audit that comes a little late is not lost.
func TestWithin(t *testing.T) {
	want := &audit.Report{Checks: 3}
	if got, err := within(context.Background(), func() *audit.Report { return want }); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("time is over"))
	if got, err := within(ctx, func() *audit.Report { return want }); err != nil || got != want {
		t.Errorf("what comes a little late is lost: %v, %v", got, err)
	}
}
