package state

import (
	"os"
	"path/filepath"
	"testing"
)

// A layer is one session's at a time, lies beside what the agent keeps, and goes with the
// project.
func TestLayer(t *testing.T) {
	d := Dirs{State: t.TempDir()}
	open := func() *Project {
		t.Helper()
		p, err := d.Open("/work/app")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := open(), open()
	upper, work, ok := a.Layer("cache")
	if !ok {
		if os.Getenv("CI") == "true" {
			t.Fatal("this file system takes no marks: CI proves nothing of layers")
		}
		t.Skip("this file system takes no marks")
	}
	if filepath.Dir(upper) != filepath.Dir(work) || filepath.Dir(filepath.Dir(filepath.Dir(upper))) != filepath.Dir(a.Home()) {
		t.Errorf("%s and %s, beside %s", upper, work, a.Home())
	}
	if _, _, ok := b.Layer("cache"); ok {
		t.Error("two sessions have one layer")
	}
	if _, _, ok := b.Layer("other"); !ok {
		t.Error("nobody has the other one")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if again, _, ok := b.Layer("cache"); !ok || again != upper {
		t.Error("it is not had after its session")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(upper); err != nil {
		t.Error(err)
	}
}
