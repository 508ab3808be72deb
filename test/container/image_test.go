package container

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"ringfence.dev/ringfence/test/wait"
)

const (
	image     = "ringfence-test"
	workspace = "/home/dev/project"
)

// programs of the machine that the image has.
var programs = []string{"sh", "id", "cat", "touch"}

// makeImage makes the image from nothing: a few programs, what they are linked
// with, two accounts, and ringfence.
func (e *engine) makeImage(t *testing.T, ringfence string) {
	var buf bytes.Buffer
	im := &imageWriter{t: t, w: tar.NewWriter(&buf), made: map[string]bool{}}
	for _, dir := range []string{"bin", "etc", "home", "root", "proc", "sys", "dev", "run", "var"} {
		im.dir(dir)
	}
	for _, dir := range []string{"tmp", "var/tmp"} {
		im.add(tar.Header{Name: dir + "/", Mode: 0o1777, Typeflag: tar.TypeDir}, nil)
	}
	for _, dir := range []string{"home/dev", workspace[1:]} {
		im.add(tar.Header{Name: dir + "/", Mode: 0o755, Uid: 1000, Gid: 1000, Typeflag: tar.TypeDir}, nil)
	}
	im.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1000::/home/dev:/bin/sh\n")
	im.text("etc/group", "root:x:0:\ndev:x:1000:\n")
	im.file(ringfence, "usr/bin/ringfence")
	var libraries []string
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		im.file(path, "bin/"+name)
		libraries = append(libraries, linked(t, path)...)
	}
	slices.Sort(libraries)
	for _, lib := range slices.Compact(libraries) {
		im.file(lib, lib[1:])
	}
	if err := im.w.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	if r := e.docker(ctx, buf.Bytes(), "import", "-", image); r.status != 0 {
		t.Fatalf("import: status %d: %s", r.status, r.stderr)
	}
}

var libraryPath = regexp.MustCompile(`/\S+`)

// linked lists the libraries of a program and its loader, where each is looked for.
func linked(t *testing.T, path string) []string {
	out, err := exec.Command("ldd", path).Output()
	if err != nil {
		t.Fatalf("ldd %s: %v", path, err)
	}
	return libraryPath.FindAllString(string(out), -1)
}

// imageWriter writes the files of the image.
type imageWriter struct {
	t    *testing.T
	w    *tar.Writer
	made map[string]bool
}

// dir adds a directory and those above it: an engine makes up modes for what it
// has to add itself.
func (im *imageWriter) dir(name string) {
	if name == "." || im.made[name] {
		return
	}
	im.dir(filepath.Dir(name))
	im.made[name] = true
	im.add(tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir}, nil)
}

func (im *imageWriter) add(h tar.Header, data []byte) {
	h.Size = int64(len(data))
	if err := im.w.WriteHeader(&h); err != nil {
		im.t.Fatal(err)
	}
	if _, err := im.w.Write(data); err != nil {
		im.t.Fatal(err)
	}
}

func (im *imageWriter) text(name, content string) {
	im.add(tar.Header{Name: name, Mode: 0o644}, []byte(content))
}

// file copies a file of the machine, or what a link leads to.
func (im *imageWriter) file(from, name string) {
	data, err := os.ReadFile(from)
	if err != nil {
		im.t.Fatal(err)
	}
	im.dir(filepath.Dir(name))
	im.add(tar.Header{Name: name, Mode: 0o755}, data)
}
