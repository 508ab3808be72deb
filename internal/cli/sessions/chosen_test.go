package sessions

import (
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// TestMatching: a session is meant by its id, by its name, or by four characters of its
// id; the latest that has a name has it alone.
func TestMatching(t *testing.T) {
	all := []*review.Work{{ID: "abcd000003", Name: "demo"}, {ID: "abcd000002", Name: "demo"}, {ID: "wxyz000001", Name: "abcd"}}
	for arg, want := range map[string]string{
		"demo": "abcd000003", "abcd000002": "abcd000002", "wxyz": "wxyz000001", "abcd0": "abcd000003, abcd000002", "abc": "", "": "", "other": "",
		"abcd": "wxyz000001", // who is called so goes before whose id begins so
	} {
		if got := ids(matching(all, arg)); got != want {
			t.Errorf("%q means %q, not %q", arg, got, want)
		}
	}
}

func TestConcerns(t *testing.T) {
	w := &review.Work{Project: "/home/you/project", Trees: []review.Tree{{Path: "/srv/data"}}}
	for here, want := range map[string]bool{
		"/home/you/project": true, "/home/you/project/sub": true, "/srv/data/x": true, "/home/you": false, "/home/you/project2": false, "/srv": false,
	} {
		if got := concerns(w, here); got != want {
			t.Errorf("%s: %v", here, got)
		}
	}
}

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{{"/w/p", "/w/p", "."}, {"/w", "/w/p", "."}, {"/w/p/a/b", "/w/p", "a/b"}, {"/w/p2", "/w/p", ""}, {"/x", "/w/p", ""}} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("%s in %s is %q, not %q", c[0], c[1], got, c[2])
		}
	}
}

func TestRetention(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		days    int
		set     bool
		logDays int
		size    string
		want    journal.Retention
	}{
		{30, false, 0, "", journal.Retention{Age: 30 * day, Keep: 50}},
		{30, true, 7, "", journal.Retention{Age: 7 * day, Keep: 50}},
		{30, true, 0, "", journal.Retention{Age: 0, Keep: 50}},
		{30, false, 0, "2MiB", journal.Retention{Age: 30 * day, Keep: 50, Size: 2 << 20}},
	} {
		if got, err := retention(c.days, c.set, c.logDays, 50, c.size); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	for _, size := range []string{"much", "-1MiB", "0"} {
		if _, err := retention(30, false, 0, 50, size); fault.KindOf(err) != fault.Usage {
			t.Errorf("--log-size %s: %v", size, err)
		}
	}
}

func TestWantedKinds(t *testing.T) {
	for _, c := range []struct {
		text string
		net  bool
		want int
	}{{"", false, 0}, {"session", false, 1}, {"session,work", false, 2}, {"", true, 3}, {"work", true, 4}, {",", false, 0}} {
		if got, err := wantedKinds(c.text, c.net); err != nil || len(got) != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if _, err := wantedKinds("session,nets", false); err == nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("a kind that there is not: %v", err)
	}
}
