package registry

import (
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// Both managers say what they ask for. What is ready is not asked for.
const (
	npmAsks = quiet + "npm ci --loglevel http 2>&1 | tee /tmp/said; node -p 'require(\"lib/package.json\").version'; echo ASKED $(grep -c 'fetch .*[.]tgz' /tmp/said)"
	goAsks  = "go build -x ./... 2>/tmp/said || cat /tmp/said; go list -deps -f '{{.Dir}}' ./... | grep example.test; echo ASKED $(grep -c '^# get .*[.]\\(zip\\|mod\\)$' /tmp/said)"
)

// locked is a project whose lock file names a package of a registry by its digest.
func (s *scene) locked(n *npmRegistry, names ...string) string {
	s.t.Helper()
	deps, parts := "", ""
	for _, name := range names {
		rel := n.have[name][0]
		sum := sha512.Sum512(ball(name, rel))
		deps += fmt.Sprintf(`,"%s":"%s"`, name, rel.version)
		parts += fmt.Sprintf(`,"node_modules/%[1]s":{"version":"%[2]s","resolved":"%[3]s/%[1]s/-/%[4]s-%[2]s.tgz","integrity":"sha512-%[5]s"}`,
			name, rel.version, n.URL, filepath.Base(name), base64.StdEncoding.EncodeToString(sum[:]))
	}
	root := `"name":"app","version":"1.0.0","dependencies":{` + deps[1:] + `}`
	return s.project("package.json", "{"+root+"}", "package-lock.json", `{"name":"app","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{`+root+`}`+parts+`}}`)
}

// summed is a project whose go.sum has all that it needs.
func (s *scene) summed(m *modules) string {
	s.t.Helper()
	sums, err := m.gosum("example.test/lib", "v1.2.0")
	if err != nil {
		s.t.Fatal(err)
	}
	return s.project("go.mod", "module app.test\n\ngo 1.21\n\nrequire example.test/lib v1.2.0\n", "go.sum", string(sums), "app.go", "package app\n\nimport _ \"example.test/lib\"\n")
}

func (s *scene) readyDir() string { return filepath.Join(s.state, "ringfence/registry/ready") }

// The second project asks the door for nothing of a package's contents. Without what is ready
// it does: the control.
func TestReady(t *testing.T) {
	s := begin(t)
	m, n := s.modules(), s.npmRegistry("127.0.0.1")
	m.add("example.test/lib", "v1.2.0", "", aged)
	n.add("lib", "1.0.0", aged)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	for i, c := range []struct {
		name, script, found string
		project             func() string
	}{
		{"npm", npmAsks, "1.0.0\n", func() string { return s.locked(n, "lib") }},
		{"go", goAsks, "example.test/lib@v1.2.0\n", func() string { return s.summed(m) }},
	} {
		if !stage.Mine(i) {
			continue
		}
		for _, step := range []struct {
			what  string
			asked bool
		}{{"empty store", true}, {"ready", false}, {"ready again", false}, {"taken away", true}, {"ready anew", false}} {
			if step.what == "taken away" {
				if err := os.RemoveAll(s.readyDir()); err != nil {
					t.Fatal(err)
				}
			}
			out := s.must(c.project(), c.script)
			if !strings.Contains(out, c.found) || strings.Contains(out, "ASKED 0\n") == step.asked {
				t.Errorf("%s, %s: %s", c.name, step.what, out)
			}
		}
	}
}

// tree tells all that a directory has, to the byte, with modes, links and marks. When a layer
// was last shown is its own time.
func tree(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "cd "+dir+" && { find . -type d -printf '%p %M %n %U\\n'; find . ! -type d -printf '%p %M %n %T@ %U %l\\n'; } | sort && find . -type f -exec sha256sum {} + | sort && getfattr -R -d -m - . 2>/dev/null; true").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Whoever is shown what is ready cannot change it, and nothing that a session has made of its
// own cache is shown to another.
func TestReadyIsNobodysToChange(t *testing.T) {
	s := begin(t)
	m, n := s.modules(), s.npmRegistry("127.0.0.1")
	m.add("example.test/lib", "v1.2.0", "", aged)
	n.add("lib", "1.0.0", aged)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	s.must(s.locked(n, "lib"), npmAsks)
	s.must(s.summed(m), goAsks)
	before := tree(t, s.readyDir()) + tree(t, filepath.Join(s.state, "ringfence/registry/blobs"))
	out := s.must(s.locked(n, "lib"), `
all() { find ~/.npm/_cacache/content-v2 ~/go/pkg/mod -type f; }
echo FILES $(all | wc -l)
cat > /tmp/a.py <<'END'
import os, sys, fcntl, mmap, array
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    def attempt(f):
        try: f()
        except OSError: pass
    def mapped():
        w = os.open("/proc/self/fd/%d" % fd, os.O_RDWR)
        mmap.mmap(w, 1)[0:1] = b"X"
    attempt(lambda: fcntl.ioctl(fd, 0x40086602, array.array("l", [0x10])))  # immutable
    attempt(lambda: os.setxattr(path, "user.x", b"x"))
    attempt(lambda: os.setxattr(path, "user.overlay.redirect", b"/"))
    attempt(lambda: os.link("/proc/self/fd/%d" % fd, path + ".link", follow_symlinks=True))
    attempt(lambda: os.utime(fd, (1, 1)))
    attempt(lambda: os.fchmod(fd, 0o777))
    attempt(mapped)
    attempt(lambda: os.pwrite(os.open("/proc/%d/root%s" % (os.getpid(), path), os.O_WRONLY), b"Y", 0))
    attempt(lambda: os.truncate(path, 1))
END
all | xargs python3 /tmp/a.py
for f in $(all); do ln $f $f.hard; echo bad > $f.hard; mv $f /tmp/x; echo bad > $f; done
mv ~/go/pkg/mod/example.test ~/go/pkg/mod/moved; mkdir -p ~/go/pkg/mod/example.test/lib@v1.2.0 ~/go/pkg/mod/planted.test@v1.0.0
echo 'package evil' > ~/go/pkg/mod/example.test/lib@v1.2.0/lib.go; echo x > ~/go/pkg/mod/planted.test@v1.0.0/x
mkdir -p ~/.npm/_cacache/content-v2/sha512/00/00; echo planted > ~/.npm/_cacache/content-v2/sha512/00/00/00
mknod ~/go/pkg/mod/cache/x c 0 0; rm -rf ~/go/pkg/mod/cache; rm -rf ~/.npm/_cacache/*; true`)
	if strings.Contains(out, "FILES 0\n") {
		t.Fatalf("control: nothing was shown: %s", out)
	}
	if after := tree(t, s.readyDir()) + tree(t, filepath.Join(s.state, "ringfence/registry/blobs")); after != before {
		t.Errorf("it was changed:\n%s\nbefore:\n%s", after, before)
	}
	if out := s.must(s.locked(n, "lib"), npmAsks+"; find ~/.npm -path '*/00/00/*'"); !strings.Contains(out, "1.0.0\nASKED 0\n") || strings.Contains(out, "/00/00/") {
		t.Errorf("npm, the next project: %s", out)
	}
	if out := s.must(s.summed(m), goAsks+"; go mod verify; ls ~/go/pkg/mod"); !strings.Contains(out, "ASKED 0\n") || !strings.Contains(out, "all modules verified") || strings.Contains(out, "planted") || strings.Contains(out, "moved") {
		t.Errorf("go, the next project: %s", out)
	}
}

// What the brakes hold back from a session is not ready for it either, though another session
// had it by rules of its own.
func TestReadyBrakes(t *testing.T) {
	s := begin(t)
	m, n := s.modules(), s.npmRegistry("127.0.0.1")
	m.add("example.test/lib", "v1.2.0", "", time.Hour)
	n.add("lib", "1.0.0", time.Hour)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	deny := filepath.Join(s.state, "config/ringfence/policy.toml")
	for i, c := range []struct {
		name, script, found, pkg string
		project                  func() string
	}{
		{"npm", npmAsks, "1.0.0\n", "npm:lib", func() string { return s.locked(n, "lib") }},
		{"go", goAsks, "example.test/lib@v1.2.0\n", "go:example.test/lib", func() string { return s.summed(m) }},
	} {
		if !stage.Mine(i) {
			continue
		}
		for _, flags := range [][]string{{"--min-release-age", "0"}, {"--allow-package", c.pkg}} {
			for _, asked := range []bool{true, false} { // and for the same rules it is ready: the control
				if out := s.must(c.project(), c.script, flags...); !strings.Contains(out, c.found) || strings.Contains(out, "ASKED 0\n") == asked {
					t.Fatalf("%s, control %q: %s", c.name, flags, out)
				}
			}
			if out, _ := s.run(c.project(), c.script); strings.Contains(out, c.found) || !strings.Contains(out, "is held back") {
				t.Errorf("%s, young, after %q: %s", c.name, flags, out)
			}
			s.write(deny, "[supply]\ndeny = ['"+c.pkg+"']\n")
			if out, _ := s.run(c.project(), c.script, flags...); strings.Contains(out, c.found) || !strings.Contains(out, "is refused, in every version") {
				t.Errorf("%s, refused, after %q: %s", c.name, flags, out)
			}
			if err := os.Remove(deny); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What came by a login is ready for sessions with that login alone, and what one registry
// sent for sessions that use it.
func TestReadyLogin(t *testing.T) {
	const token = "CANARYtoken1"
	s := begin(t)
	corp, other := s.npmRegistry("127.0.0.2"), s.npmRegistry("127.0.0.3")
	corp.token = token
	corp.add("lib", "1.0.0", aged)
	rc := filepath.Join(stage.Home, ".npmrc")
	t.Cleanup(func() { os.Remove(rc) })
	login := strings.TrimPrefix(corp.URL, "http:") + "/:_authToken=" + token + "\n"
	s.write(rc, "registry="+corp.URL+"\n"+login)
	for _, asked := range []bool{true, false} {
		if out := s.must(s.locked(corp, "lib"), npmAsks); !strings.Contains(out, "1.0.0\n") || strings.Contains(out, "ASKED 0\n") == asked {
			t.Fatalf("control: %s", out)
		}
	}
	for _, text := range []string{"registry=" + corp.URL + "\n", "registry=" + other.URL + "\n", "registry=" + other.URL + "\n" + login, "registry=" + corp.URL + "\n@corp:registry=" + other.URL + "\n" + login} {
		s.write(rc, text)
		out, _ := s.run(s.locked(corp, "lib"), "find ~/.npm -type f; "+npmAsks)
		if strings.Contains(out, "content-v2") || strings.Contains(text, "\n@corp") != strings.Contains(out, "1.0.0\n") {
			t.Errorf("%q: %s", text, out)
		}
	}
	corp.token = "CANARYtoken2" // which may read less
	s.write(rc, "registry="+corp.URL+"\n"+strings.ReplaceAll(login, token, corp.token))
	if out := s.must(s.locked(corp, "lib"), "find ~/.npm -type f; "+npmAsks); strings.Contains(out, "content-v2") || !strings.Contains(out, "1.0.0\nASKED 1\n") {
		t.Errorf("another login: %s", out)
	}
}

// go.sum is the project's own file: under a name that it gives a file of another module,
// nothing is ready.
func TestReadyNames(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("example.test/base", "v1.0.0", "", aged)
	m.add("example.test/lib", "v1.2.0", "", aged)
	get := func(name string) string {
		return "curl -sSf http://127.0.0.1:809/go/example.test/" + name + ".mod"
	}
	sums, err := m.gosum("example.test/base", "v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	s.must(s.app("v1.2.0"), get("base/@v/v1.0.0"))
	evil := s.project("go.mod", "module app\n", "go.sum", strings.ReplaceAll(string(sums), "base v1.0.0", "lib v1.2.0"))
	if out := s.must(evil, get("lib/@v/v1.2.0")); !strings.Contains(out, "module example.test/base") {
		t.Fatalf("control: %s", out)
	}
	if out := s.must(s.summed(m), goAsks+"; go mod verify"); !strings.Contains(out, "all modules verified") {
		t.Errorf("the next project: %s", out)
	}
}

// A package with install scripts is never ready: each session is told of it.
func TestReadyScripts(t *testing.T) {
	s := begin(t)
	n := s.npmRegistry("127.0.0.1")
	n.have["lib"] = []npmRelease{{"1.0.0", time.Now().Add(-aged), "touch ~/ran"}}
	s.env = append(s.env, "npm_config_registry="+n.URL)
	for range 2 {
		if out := s.must(s.locked(n, "lib"), npmAsks); !strings.Contains(out, "--allow-package npm:lib") {
			t.Errorf("not told: %s", out)
		}
	}
}

// gc takes away what is ready, and the next session has it from the door.
func TestReadyGC(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("example.test/lib", "v1.2.0", "", aged)
	s.must(s.summed(m), goAsks)
	cmd := exec.Command(stage.Ringfence, "gc", "--yes", "--package-size", "1KiB")
	cmd.Dir, cmd.Env = stage.Work, s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	left, err := filepath.Glob(s.readyDir() + "/*/*")
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	if out := s.must(s.summed(m), goAsks); strings.Contains(out, "ASKED 0\n") || !strings.Contains(out, "lib@v1.2.0\n") {
		t.Errorf("afterwards: %s", out)
	}
}

// Where what is ready cannot be shown, the session's own cache is there alone, and the door has
// everything: here the mount is refused because a link leads to the layers.
func TestReadyCannotBeShown(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("example.test/lib", "v1.2.0", "", aged)
	s.must(s.summed(m), goAsks)
	if err := errors.Join(os.Rename(s.readyDir(), s.readyDir()+"-moved"), os.Symlink(s.readyDir()+"-moved", s.readyDir())); err != nil {
		t.Fatal(err)
	}
	dir := s.summed(m)
	if out := s.must(dir, goAsks); strings.Contains(out, "ASKED 0\n") || !strings.Contains(out, "lib@v1.2.0\n") {
		t.Errorf("the door: %s", out)
	}
	if out := s.must(dir, goAsks); !strings.Contains(out, "ASKED 0\n") {
		t.Errorf("its own cache: %s", out)
	}
}

// A project whose cache lies above what is ready keeps what it fetches by itself, and a second
// session beside the first has a cache of its own.
func TestReadyStays(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("example.test/lib", "v1.2.0", "", aged)
	m.add("example.test/base", "v1.0.0", "", aged)
	s.must(s.summed(m), goAsks)
	dir := s.summed(m)
	s.must(dir, goAsks+"; go mod download example.test/base@v1.0.0; touch ~/go/pkg/mine; rm -rf ~/go/pkg/mod/cache/download/example.test/lib")
	out := s.must(dir, "ls ~/go/pkg; ls ~/go/pkg/mod/cache/download/example.test; "+goAsks)
	if !strings.Contains(out, "mine\n") || !strings.Contains(out, "base\n") || strings.Contains(out, "\nlib\n") || !strings.Contains(out, "lib@v1.2.0\n") {
		t.Errorf("the next session: %s", out)
	}
	fifo := filepath.Join(dir, "go.on")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	first := make(chan string)
	go func() {
		out, _ := s.run(dir, "echo > go.on; read x < go.on; ls ~/go/pkg")
		first <- out
	}()
	if _, err := os.ReadFile(fifo); err != nil { // it stands
		t.Fatal(err)
	}
	if out := s.must(dir, goAsks+"; ls ~/go/pkg"); strings.Contains(out, "mine\n") || !strings.Contains(out, "lib@v1.2.0\n") {
		t.Errorf("beside another: %s", out)
	}
	if err := os.WriteFile(fifo, []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	if out := <-first; !strings.Contains(out, "mine\n") {
		t.Errorf("the first: %s", out)
	}
}
