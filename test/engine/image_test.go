package engine

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var libraryPath = regexp.MustCompile(`/\S+`)

// makeImage makes an image of a few programs of the machine, with what they are linked
// with, and a program that only it has.
func makeImage(t *testing.T, name string, changes ...string) {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	put := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		err := w.WriteHeader(&h)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	made := map[string]bool{".": true}
	var dir func(string) // an engine makes up modes for those that it has to add itself
	dir = func(name string) {
		if !made[name] {
			made[name] = true
			dir(filepath.Dir(name))
			put(tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir}, nil)
		}
	}
	file := func(name, data string) {
		dir(filepath.Dir(name))
		put(tar.Header{Name: name, Mode: 0o755}, []byte(data))
	}
	files := map[string]string{}
	for _, p := range []string{"sh", "cat", "id", "ls", "touch"} {
		path, err := exec.LookPath(p)
		if err != nil {
			t.Fatal(err)
		}
		files["usr/bin/"+p] = path
		out, err := exec.Command("ldd", path).Output()
		if err != nil {
			t.Fatalf("ldd %s: %v", path, err)
		}
		for _, lib := range libraryPath.FindAllString(string(out), -1) {
			files["usr"+strings.TrimPrefix(lib, "/usr")] = lib
		}
	}
	for _, link := range []string{"bin", "lib", "lib64", "sbin"} {
		put(tar.Header{Name: link, Linkname: "usr/" + link, Typeflag: tar.TypeSymlink, Mode: 0o777}, nil)
	}
	names := []string{}
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		data, err := os.ReadFile(files[n])
		if err != nil {
			t.Fatal(err)
		}
		file(n, string(data))
	}
	file("usr/bin/only-here", "#!/bin/sh\necho from the image\n")
	file("opt/own/bin/claude", "#!/bin/sh\necho the agent of the image \"$@\"\n")
	file("etc/os-release", "ID=ours\n")
	file("etc/shadow", "root:secret-of-the-image\n")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(at, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"import"}
	for _, c := range changes {
		args = append(args, "--change", c)
	}
	docker(t, append(args, at, name)...)
	t.Cleanup(func() { docker(t, "rmi", "--force", name) })
}

// TestImage: the programs are the image's, the work and the walls are as ever, and nothing
// of the image runs outside of them.
func TestImage(t *testing.T) {
	f := newFixture(t)
	const name = "team/tools:1"
	makeImage(t, name, "ENV PATH=/opt/own/bin:/usr/bin", "ENV GODEBUG=inittrace=1", "ENV SECRET=of-the-image",
		`HEALTHCHECK --interval=1ms CMD touch `+f.Dir+`/health`, `ENTRYPOINT ["/usr/bin/touch", "`+f.Dir+`/entry"]`)
	script := `only-here; cat /etc/os-release; [ -e /usr/bin/python3 ] && echo "of the host"; [ -e /etc/shadow ] && echo shadow; echo "[$SECRET$GODEBUG]"; id -u; echo new > made; touch /usr/x 2>/dev/null && echo written`
	r := f.Run("--image", name, "--net", "none", "--", "sh", "-c", script)
	if want := "from the image\nID=ours\n[]\n" + uid() + "\n"; r.Stdout != want {
		t.Errorf("%q, want %q\n%s", r.Stdout, want, r.Stderr)
	}
	out, err := f.Cmd("run", "--image", name, "--dry-run", "--", "only-here").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "container, image "+name+" (sha256:") {
		t.Errorf("the image is not named: %v\n%s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(f.Dir, "made")); err != nil || string(b) != "new\n" {
		t.Errorf("%q, %v", b, err)
	}
	for _, ran := range []string{"health", "entry"} {
		if _, err := os.Stat(filepath.Join(f.Dir, ran)); err == nil {
			t.Errorf("%s of the image ran", ran)
		}
	}
	agent := f.Cmd("claude", "--image", name, "--net", "none", "--", "hello")
	if out, err := agent.Output(); err != nil || !strings.Contains(string(out), "the agent of the image") {
		t.Errorf("the agent: %v\n%s", err, out)
	}
	for _, refused := range [][]string{{"--image", "nobody/has:it"}, {"--image", name, "--rung", "native"}, {"--image", "--privileged"}, {"--image", name + "@sha256:" + strings.Repeat("0", 64)}} {
		if r := f.Run(append(refused, "--net", "none", "--", "only-here")...); r.Status != 125 && r.Status != 2 || r.Stdout != "" {
			t.Errorf("%q: status %d\n%s%s", refused, r.Status, r.Stdout, r.Stderr)
		} else {
			t.Log(r.Stderr)
		}
	}
}

// TestNothingOnce: first sessions that make the empty image at the same time leave no image
// without a name.
func TestNothingOnce(t *testing.T) {
	f := newFixture(t)
	const nothing = "ringfence-nothing:1"
	if docker(t, "images", "--quiet", nothing) != "" {
		docker(t, "rmi", nothing)
	}
	// Each has asked for it, and been told that it is not there, before one makes it.
	var asked sync.WaitGroup
	const sessions = 4
	asked.Add(sessions)
	between(t, f, func(method, path string, _ []byte) {
		if method == "POST" && strings.Contains(path, "/images/") {
			asked.Done()
			asked.Wait()
		}
	})
	var all sync.WaitGroup
	for range sessions {
		cmd := f.Cmd("run", "--rung", "container", "--net", "none", "--", "true")
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	if left := docker(t, "images", "--quiet", "--filter", "dangling=true"); left != "" {
		t.Errorf("images without a name: %s", left)
	}
}
