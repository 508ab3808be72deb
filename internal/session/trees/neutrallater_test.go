package trees

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// A directory that a link leads to keeps its own name, by which secrets are known, and has
// that of the link besides, by which agents obey what is in it; also when the tree is
// looked through once more.
func TestLinkedSettingsAreWatched(t *testing.T) {
	ws := t.TempDir()
	if err := os.MkdirAll(filepath.Join(ws, "config/claude/agents"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("config/claude", filepath.Join(ws, ".claude")); err != nil {
		t.Fatal(err)
	}
	ts := &Trees{masking: masking{rules: phantom.Builtin()}}
	ts.Untrusted.watched = map[string]scanned{ws: {at: time.Now().Add(time.Hour)}}
	o := &lookout{k: &Changes{trees: ts}, at: map[int32]watchedDir{}, linked: map[int32][]watchedDir{}, judge: map[string]bool{}, again: map[string]pending{}, closed: map[string]bool{}}
	o.open()
	defer o.notify.Close()
	ended := make(chan struct{})
	o.through(ws, "", ended)
	o.watchObeyed()
	names := map[string]int32{}
	for wd, at := range o.at {
		names[at.rel] = wd
	}
	for own, file := range map[string]string{"config/claude": "settings.json", "config/claude/agents": "x.md"} {
		wd, ok := names[own]
		if !ok {
			t.Fatalf("%s has lost its name: %v", own, o.at)
		}
		for _, again := range []bool{false, true} {
			if again {
				o.through(ws, "", ended)
			}
			clear(o.judge)
			if o.heard(told{wd: wd, mask: unix.IN_MOVED_TO, name: file}, ended); !o.judge[ws] {
				t.Errorf("%s in %s changed and nobody judges it (looked through again: %v)", file, own, again)
			}
		}
	}
}

// A file has the time of the kernel's last tick, which is before the scan that did not see
// it: it is looked at once more.
func TestMadeInTheSameTick(t *testing.T) {
	ws := t.TempDir()
	made := time.Now()
	if err := os.Chtimes(ws, made, made); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		scan time.Time
		want bool
	}{{made.Add(5 * time.Millisecond), true}, {made.Add(-time.Second), true}, {made.Add(time.Second), false}} {
		o := &lookout{judge: map[string]bool{}}
		if o.watchDir(ws, ws, c.scan); o.judge[ws] != c.want {
			t.Errorf("made %s after the scan: judged again %v", made.Sub(c.scan), !c.want)
		}
	}
}
