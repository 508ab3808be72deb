package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("good"), "[files]\nread = ['/a']\n")
	put(t, at("bad"), "[files]\nraed = ['/a']\n")
	put(t, at("new\nline"), "[")
	for link, target := range map[string]string{"stowed": "good", "dangling": "gone", "loop": "loop"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(at("missing")); p != nil || err != nil {
		t.Errorf("missing: %v, %v", p, err)
	}
	for _, name := range []string{"good", "stowed"} {
		if p, err := Load(at(name)); err != nil || p.Files.Read[0].Source != (Source{at(name), 2}) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	for name, want := range map[string]string{
		"bad": "unknown key", "dangling": "a symlink to nothing", "loop": "symbolic links", "fifo": "not a regular file", ".": "not a regular file",
		"good/x": "not a directory", "new\nline": `new\nline":1: not valid TOML`,
	} {
		p, err := Load(dir + "/" + name)
		if p != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// Unreadable for root too: the name is longer than any file system takes.
func TestLoadUnreadable(t *testing.T) {
	p, err := Load(filepath.Join(t.TempDir(), strings.Repeat("n", 300)))
	if p != nil || err == nil {
		t.Errorf("%v, %v", p, err)
	}
	file := filepath.Join(t.TempDir(), "p.toml")
	put(t, file, "")
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	_, err = Load(file)
	if readable := os.Geteuid() == 0; readable != (err == nil) {
		t.Errorf("mode 0 as uid %d: %v", os.Geteuid(), err)
	}
}

func TestLoadProject(t *testing.T) {
	dir := t.TempDir()
	if p, digest, err := LoadProject(dir); p != nil || digest != "" || err != nil {
		t.Errorf("none: %v %q %v", p, digest, err)
	}
	file := filepath.Join(dir, ProjectFile)
	put(t, file, project)
	p, digest, err := LoadProject(dir)
	sum := sha256.Sum256([]byte(project))
	if err != nil || digest != hex.EncodeToString(sum[:]) || p.Files.Mask[0].Source != (Source{ProjectFile, 3}) {
		t.Errorf("%v %q %v", p, digest, err)
	}
	put(t, file, "oops")
	if p, digest, err := LoadProject(dir); p != nil || digest != "" || err == nil {
		t.Errorf("bad: %v %q %v", p, digest, err)
	}
	if err := os.Rename(file, filepath.Join(dir, "real.toml")); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"real.toml", "gone"} {
		if err := os.Symlink(target, file); err != nil {
			t.Fatal(err)
		}
		if _, _, err := LoadProject(dir); err == nil || !strings.Contains(err.Error(), "is a symlink") {
			t.Errorf("link to %s: %v", target, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}
