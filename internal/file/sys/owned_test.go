package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// somebody is a user who is neither us nor the system.
const somebody = 1999

func TestOwned(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	mkdir := func(name string, mode os.FileMode) string {
		t.Helper()
		if err := os.MkdirAll(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	link := func(name, to string) {
		t.Helper()
		if err := os.Symlink(to, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("home/sub", 0o700)
	mkdir("open/sub", 0o700)
	os.Chmod(at("open"), 0o777)
	mkdir("sticky", 0o777|os.ModeSticky)
	mkdir("sticky/mine", 0o700)
	link("tosub", "home/sub")
	link("home/up", "sub/..")
	link("toopen", at("open/sub"))
	link("loop", "loop")
	link("dangling", "home/none/deeper")
	for path, want := range map[string]string{
		"home/sub": "", "home/none/deeper": "", "tosub/x": "", "home/up/sub": "", "dangling": "", "sticky/mine/new": "", "": "",
		"open/sub": at("open"), "toopen": at("open"), "sticky/new": at("sticky/new"), "home/../open/sub": at("open"),
	} {
		_, err := Owned(at(path))
		var foreign *Foreign
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", path, err)
		case want != "" && (!errors.As(err, &foreign) || foreign.At != want):
			t.Errorf("%s: %v, want it refused at %s", path, err, want)
		case want != "" && foreign.Hint() == "":
			t.Errorf("%s: no command that helps", path)
		}
	}
	for path, want := range map[string]string{"tosub/x": "home/sub/x", "home/up/sub": "home/sub", "dangling": "home/none/deeper"} {
		if got, err := Owned(at(path)); err != nil || got != at(want) {
			t.Errorf("%s is %s, %v, want %s", path, got, err, at(want))
		}
	}
	if _, err := Owned(at("loop")); err == nil {
		t.Error("a link to itself is ours")
	}
	if _, err := Owned("relative"); err == nil {
		t.Error("a relative path was walked")
	}
}

func TestOwnedBySomebody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away; as an ordinary user this is not proved here, the script owners does it where root runs it")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []string{"his/sub", "mine"} {
		if err := os.MkdirAll(at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink(at("mine"), at("hislink"))
	os.Symlink(at("his/sub"), at("mylink"))
	os.WriteFile(at("mine/file"), nil, 0o600)
	for _, name := range []string{"his", "hislink", "mine/file"} {
		if err := os.Lchown(at(name), somebody, somebody); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"his": at("his"), "his/sub": at("his"), "his/none": at("his"), "hislink": at("hislink"), "hislink/x": at("hislink"),
		"mylink": at("his"), "mine/file": at("mine/file"), "mine": "",
	} {
		_, err := Owned(at(path))
		var foreign *Foreign
		if want == "" && err != nil || want != "" && (!errors.As(err, &foreign) || foreign.At != want || foreign.UID != somebody) {
			t.Errorf("%s: %v, want it refused at %q", path, err, want)
		}
	}
}
