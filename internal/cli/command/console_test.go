package command

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/internal/fault"
)

// TestTalkIsInert: a name of the workspace moves no cursor, and makes no line that looks
// like one of ours.
func TestTalkIsInert(t *testing.T) {
	for _, c := range []struct {
		say  func(*Console)
		want string
	}{
		{func(c *Console) { c.Say("%s: %d×, 日本", "a\x1b[2Jb", 2) }, "ringfence: a\\u001b[2Jb: 2×, 日本\n"},
		{func(c *Console) { c.Warn("one\nringfence: trusted") }, "ringfence: warning: one\n  ringfence: trusted\n"},
		{func(c *Console) { c.Explain(errors.New("a\u202eb\rc")) }, "ringfence: error: a\\u202eb\\u000dc\n"},
		{func(c *Console) { c.Explain(fault.New(fault.Refused, "run \x07it", "no")) }, "ringfence: error: no\nringfence: hint: run \\u0007it\n"},
		{func(c *Console) { c.JSONLine(map[string]string{"a": "\u009b2J日🙂\x7f"}) }, `{"a":"\u009b2J\u65e5\ud83d\ude42\u007f"}` + "\n"},
		{func(c *Console) { c.JSON([]int{1}) }, "[\n  1\n]\n"},
	} {
		if got := shown(t, 0, nil, c.say); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}

// TestConfirm: only y is a yes, and nobody is asked where nobody is.
func TestConfirm(t *testing.T) {
	for typed, want := range map[string]bool{"y\n": true, "Y \n": true, "\n": false, "yes please\n": false, "n\n": false} {
		far, near, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := far.WriteString(typed); err != nil {
			t.Fatal(err)
		}
		if got := (&Console{In: near, Err: near}).Confirm("Do it?", false); got != want {
			t.Errorf("%q is %v", typed, got)
		}
		near.Close()
		far.Close()
	}
	got := shown(t, 0, nil, func(c *Console) {
		if c.Person() || c.Confirm("Do it?", false) {
			t.Error("a pipe says yes")
		}
	})
	if !strings.Contains(got, "nothing was changed; --yes does it without asking") || strings.Contains(got, "Do it?") {
		t.Errorf("a pipe is told %q", got)
	}
	got = shown(t, 80, nil, func(c *Console) {
		if !c.Person() || c.Confirm("Do it?", true) {
			t.Error("it is done although it never may")
		}
	})
	if strings.Contains(got, "Do it?") {
		t.Errorf("it is asked what never may be: %q", got)
	}
}

func TestGetenv(t *testing.T) {
	c := &Console{Environ: []string{"HOMEWARD=x", "HOME=/home/you", "HOME=/other", "EMPTY="}}
	for name, want := range map[string]string{"HOME": "/home/you", "EMPTY": "", "HOM": "", "MISSING": ""} {
		if got := c.Getenv(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	dirs, err := c.Dirs()
	if err != nil || dirs.Config != "/home/you/.config/ringfence" || dirs.State != "/home/you/.local/state/ringfence" {
		t.Errorf("%+v, %v", dirs, err)
	}
	if _, err := (&Console{Environ: os.Environ()[:0]}).Dirs(); err == nil {
		t.Error("without HOME there are directories")
	}
}
