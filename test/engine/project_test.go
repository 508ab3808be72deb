package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/work"
)

// whose says whose programs a session has.
const whose = "only-here 2>/dev/null || echo of the host"

// trusts accepts what the project has now, and returns what was shown before.
func trusts(t *testing.T, f *work.Fixture) string {
	t.Helper()
	out, err := f.Cmd("trust", "--yes").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// has plays a session, and wants it to have the programs of the host or of the image, and to be
// told so.
func has(t *testing.T, f *work.Fixture, image bool, told string, flags ...string) {
	t.Helper()
	r := f.On(whose, append(flags, "--net", "none")...)
	want := "of the host\n"
	if image {
		want = "from the image\n"
	}
	if r.Stdout != want || !strings.Contains(r.Stderr, told) || told == "" && strings.Contains(r.Stderr, "image") {
		t.Errorf("status %d: %q, want %q; told is not %q:\n%s", r.Status, r.Stdout, want, told, r.Stderr)
	}
}

// TestProjectImage: a project names the image of its containers once a person has trusted the
// very file that does, and never more than its name.
func TestProjectImage(t *testing.T) {
	f := newFixture(t)
	const name = "team/tools:1"
	makeImage(t, name, "ENV PATH=/opt/own/bin:/usr/bin")
	canary := filepath.Join(f.Dir, "canary")
	const file = ".devcontainer/devcontainer.json"
	text := `{ // what we work with
		"image": "` + name + `", "initializeCommand": "touch ` + canary + `", "postCreateCommand": "touch ` + canary + `",
		"runArgs": ["--privileged", "--network=host"], "mounts": ["source=/,target=/whole,type=bind"], "privileged": true }`
	f.Put(file, []byte(text), 0o644)
	has(t, f, false, `not trusted, ignored: + [rung] image "team/tools:1"   (`+file+`:2)`)

	shown := trusts(t, f)
	for _, want := range []string{`+ [rung] image "team/tools:1"   (` + file + `:2)`, "not used of " + file + ": initializeCommand, postCreateCommand, runArgs, mounts, privileged", "trusted image of " + file} {
		if !strings.Contains(shown, want) {
			t.Errorf("trust does not say %q:\n%s", want, shown)
		}
	}
	has(t, f, true, "")
	r := f.On("[ -e /whole ] && echo mounted; cat /proc/self/status | while read k v; do [ $k != CapBnd: ] || echo $v; done", "--net", "none")
	if r.Stdout != "0000000000000000\n" {
		t.Errorf("%q\n%s", r.Stdout, r.Stderr)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a command of the project ran")
	}
	out, err := f.Cmd("run", "--rung", "container", "--dry-run", "--", "only-here").CombinedOutput()
	if err != nil || !strings.Contains(string(out), ", named by "+file+":2\n") {
		t.Errorf("who named the image is not said: %v\n%s", err, out)
	}

	// The user's word counts more, and no other rung is asked for an image.
	if r := f.On(whose, "--image", "nobody/has:it", "--net", "none"); r.Status != 125 || r.Stdout != "" {
		t.Errorf("status %d, %q\n%s", r.Status, r.Stdout, r.Stderr)
	}
	if out, err := f.Cmd("run", "--rung", "native", "--net", "none", "--", "sh", "-c", whose).CombinedOutput(); err != nil || string(out) != "of the host\n" {
		t.Errorf("native: %v\n%s", err, out)
	}

	// What was trusted is the content.
	f.Put(file, []byte(strings.Replace(text, "tools:1", "tools:2", 1)), 0o644)
	has(t, f, false, `not trusted, ignored: + [rung] image "team/tools:2"`)
	f.Put(file, []byte(text), 0o644)
	has(t, f, true, "")

	// A link in its place is not followed, and the Dockerfile is not asked instead.
	f.Put("Dockerfile", []byte("FROM "+name+"\n"), 0o644)
	at := filepath.Join(f.Dir, file)
	if err := os.Rename(at, filepath.Join(f.Dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../moved", at); err != nil {
		t.Fatal(err)
	}
	has(t, f, false, file+" names no image, so the programs are this machine's: it is a link")

	// Nor is it quietly gone, whether or not another file is asked now.
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	gone := file + ", which you trusted to name the image, is gone"
	has(t, f, false, gone)
	if err := os.Remove(filepath.Join(f.Dir, "Dockerfile")); err != nil {
		t.Fatal(err)
	}
	has(t, f, false, gone)
	if shown := trusts(t, f); !strings.Contains(shown, "- [rung] image   ("+file+" is gone)") {
		t.Errorf("trust does not say what is gone:\n%s", shown)
	}
	has(t, f, false, "")
}

// TestDockerfile: one that adds nothing names the image that it starts from.
func TestDockerfile(t *testing.T) {
	f := newFixture(t)
	const name = "team/tools:1"
	makeImage(t, name, "ENV PATH=/opt/own/bin:/usr/bin")
	f.Put("Dockerfile", []byte("FROM "+name+"\nCMD [\"x\"]\n"), 0o644)
	has(t, f, false, `not trusted, ignored: + [rung] image "team/tools:1"   (Dockerfile:1)`)
	trusts(t, f)
	has(t, f, true, "")
	f.Put("Dockerfile", []byte("FROM "+name+"\nRUN apt-get install more\n"), 0o644)
	has(t, f, false, "docker build -t NAME .", "--verbose")
	f.Put(".ringfence.toml", []byte("[rung]\nimage = \""+name+"\"\n"), 0o644)
	has(t, f, false, `not trusted, ignored: + [rung] image "team/tools:1"   (.ringfence.toml:2)`)
	trusts(t, f)
	has(t, f, true, "")
}
