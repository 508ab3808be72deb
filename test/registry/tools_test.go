package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// archive is a Debian archive of the test's own, signed by a key of its own.
type archive struct {
	*scene
	dir, etc string
	at       *server
}

// newArchive has the packages that a script makes, each a directory below "src" with a
// DEBIAN/control, in the place of all that the machine's apt knows.
func newArchive(t *testing.T, script string) *archive {
	t.Helper()
	for _, tool := range []string{"apt-get", "dpkg-deb", "gpg", "gpgv"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is not here: run `make tools`", tool)
			}
			t.Skip(err)
		}
	}
	a := &archive{scene: begin(t), dir: t.TempDir(), etc: t.TempDir()}
	if err := os.Chmod(a.etc, 0o755); err != nil {
		t.Fatal(err)
	}
	shell(t, a.dir, "mkdir src; "+script+`
mkdir -p dists/stable/main/binary-all dists/stable/main/binary-amd64 dists/stable/main/binary-arm64 pool
for d in src/*; do [ -e "$d.tree" ] || dpkg-deb --root-owner-group -Zxz -b "$d" pool >/dev/null; done`)
	a.index()
	a.at = a.serve("127.0.0.2", func(w http.ResponseWriter, r *http.Request) { http.FileServer(http.Dir(a.dir)).ServeHTTP(w, r) })
	shell(t, a.dir, "mkdir -p "+a.etc+"/keyrings && cp archive.gpg "+a.etc+"/keyrings/")
	a.write(filepath.Join(a.etc, "sources.list"), "deb [signed-by=/etc/apt/keyrings/archive.gpg] "+a.at.URL+"/ stable main\n")
	shell(t, a.etc, "chmod -R go+rX .")
	return a
}

// index writes down what the archive has, and signs it.
func (a *archive) index() {
	a.t.Helper()
	shell(a.t, a.dir, `export GNUPGHOME="$PWD/gnupg"
[ -e gnupg ] || { mkdir -m 700 gnupg; gpg --batch --quiet --passphrase '' --quick-gen-key archive@archive.test rsa2048 sign never; gpg --export > archive.gpg; }
for f in pool/*.deb; do
  dpkg-deb -f "$f"; echo "Filename: $f"; echo "Size: $(stat -c %s "$f")"; echo "SHA256: $(sha256sum "$f" | cut -d' ' -f1)"; echo
done > dists/stable/main/binary-amd64/Packages
cp dists/stable/main/binary-amd64/Packages dists/stable/main/binary-arm64/Packages
cd dists/stable; rm -f InRelease
{ echo "Origin: test"; echo "Suite: stable"; echo "Codename: stable"; echo "Architectures: amd64 arm64 all"; echo "Components: main"; echo "Date: $(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S UTC')"; echo "SHA256:"
  for f in main/*/Packages; do echo " $(sha256sum "$f" | cut -d' ' -f1) $(stat -c %s "$f") $f"; done; } > Release
gpg --batch --quiet --passphrase '' --clearsign -o InRelease Release; gpgconf --kill all`)
}

// host runs ringfence on a machine whose apt has this archive.
func (a *archive) host(dir string, args ...string) (out string, ok bool) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	ns := []string{"-m"}
	if os.Getuid() != 0 {
		ns = []string{"--user", "--map-current-user", "--keep-caps", "-m"}
	}
	cmd := exec.CommandContext(ctx, "unshare", slices.Concat(ns, []string{"sh", "-ec", `mount --bind "$0" /etc/apt; exec "$@"`, a.etc, stage.Ringfence}, args)...)
	cmd.Dir, cmd.Env = dir, a.env
	got, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		a.t.Fatalf("%q: %v\n%s", args, ctx.Err(), got)
	}
	return string(got), err == nil
}

// plain runs ringfence as it is: who is in another user namespace asks no running session.
func (a *archive) plain(dir string, args ...string) (out string, ok bool) {
	a.t.Helper()
	cmd := exec.Command(stage.Ringfence, args...)
	cmd.Dir, cmd.Env = dir, a.env
	got, err := cmd.CombinedOutput()
	return string(got), err == nil
}

// pack makes a package of a tree.
func pack(name, depends, tree string) string {
	return fmt.Sprintf("mkdir -p src/%[1]s/DEBIAN; printf 'Package: %[1]s\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: a\\nDepends: %[2]s\\nDescription: x\\n' > src/%[1]s/DEBIAN/control; (cd src/%[1]s; %[3]s)\n", name, depends, tree)
}

const (
	frob = `mkdir -p usr/bin usr/share/frob; printf '#!/bin/sh\necho frob of the archive\nfrob-part\n' > usr/bin/frobnicate; printf '#!/bin/sh\necho NOT THE HOSTS\n' > usr/bin/ls; chmod 755 usr/bin/*; printf '#!/bin/sh\ntouch /tmp/ran "$HOME/ran"; echo CANARYscript\n' > DEBIAN/postinst; cp DEBIAN/postinst DEBIAN/preinst; chmod 755 DEBIAN/p*`
	part = `mkdir -p usr/bin; printf '#!/bin/sh\necho and its part\n' > usr/bin/frob-part; chmod 755 usr/bin/*`
)

// A package of the machine's own archive: a person adds it, it is in the sessions of the
// project and of no other, with what it depends on, behind all else on PATH and read-only. No
// script of it is run, and nothing of it outside.
func TestToolOfDebian(t *testing.T) {
	a := newArchive(t, pack("frobnicate", "frob-part", frob)+pack("frob-part", "", part))
	dir := a.project()
	if out, ok := a.host(dir, "tools", "add", "debian:frobnicate"); !ok || !strings.Contains(out, "debian:frobnicate is there") || strings.Contains(out, "CANARY") {
		t.Fatalf("%s", out)
	}
	const script = `frobnicate; ls / | head -1; touch /ringfence/tools/bin/x /ringfence/tools/x; command -v frobnicate; ls ~/ran /tmp/ran`
	out, _ := a.run(dir, script)
	for _, want := range []string{"frob of the archive\nand its part\n", "Read-only file system", "/ringfence/tools/bin/frobnicate"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "NOT THE HOSTS") || strings.Contains(out, "CANARY") {
		t.Errorf("%s", out)
	}
	if out, _ := a.plain(dir, "run", "--", "frobnicate"); !strings.Contains(out, "frob of the archive\n") {
		t.Errorf("as the command of a session: %s", out)
	}
	if out, _ := a.run(a.project(), script); strings.Contains(out, "frob of") {
		t.Errorf("another project has it: %s", out)
	}
	if out, _ := a.host(dir, "tools", "ls"); !strings.Contains(out, "debian:frobnicate") || !strings.Contains(out, "frob-part") {
		t.Errorf("%s", out)
	}
	if _, err := os.Lstat(filepath.Join(stage.Home, "ran")); err == nil {
		t.Error("a script of the package ran outside")
	}
	if out, ok := a.host(dir, "tools", "add", "--project", "/elsewhere", "debian:frob-part"); ok {
		t.Errorf("it came to another project than was meant: %s", out)
	}
	for _, name := range []string{"debian:frobnicat.", "debian:frob.icate", "debian:frob-part-", "debian:frob-part+"} { // apt-get would take a pattern, and orders
		if out, ok := a.host(dir, "tools", "add", name); ok || !strings.Contains(out, "have no package "+name[7:]) {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out, ok := a.host(dir, "tools", "rm", "debian:frobnicate"); !ok {
		t.Errorf("%s", out)
	}
	if out, _ := a.run(dir, script); strings.Contains(out, "frob of") {
		t.Errorf("it is still there: %s", out)
	}
	if out, ok := a.host(dir, "tools", "add", "debian:frob-part"); !ok {
		t.Fatalf("%s", out)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	out, _ = a.plain(stage.Work, "gc", "--yes")
	if left, _ := filepath.Glob(filepath.Join(a.state, "ringfence/projects/*/tools/records")); len(left) > 0 {
		t.Errorf("the project is gone, its tools are not: %s", out)
	}
}

// policy is what the user of the scene wrote.
func (a *archive) policy(text string) {
	a.write(filepath.Join(a.state, "config/ringfence/policy.toml"), text)
}

// An agent asks: without a rule a person has to say yes, outside, and then the running session
// has the tool. A wish is shown to people, with the command.
func TestToolIsAskedFor(t *testing.T) {
	a := newArchive(t, pack("frobnicate", "frob-part", frob)+pack("frob-part", "", part))
	dir := a.project()
	cmd := exec.Command(stage.Ringfence, "run", "--name", "asks", "--", "sh", "-c", `get-tool frobnicate 2>said; get-tool -x 2>/dev/null; echo $? >>said; mv said asked; exec cat`)
	cmd.Dir, cmd.Env = dir, a.env
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer hold.Close()
	var said []byte
	wait.Eventually(t, "the agent has asked", func() bool { said, err = os.ReadFile(filepath.Join(dir, "asked")); return err == nil })
	if !strings.Contains(string(said), "a person has to say yes") || !strings.Contains(string(said), "\n  ringfence tools add debian:frobnicate\n") || !strings.HasSuffix(string(said), "\n2\n") {
		t.Errorf("%s", said)
	}
	if out, _ := a.plain(dir, "requests", "asks"); !strings.Contains(out, "the agent asks for tool debian:frobnicate") || !strings.Contains(out, "ringfence tools add debian:frobnicate") {
		t.Errorf("%s", out)
	}
	if out, ok := a.host(dir, "tools", "add", "debian:frobnicate"); !ok {
		t.Fatalf("%s", out)
	}
	if out, _ := a.plain(dir, "exec", "asks", "--", "frobnicate"); !strings.Contains(out, "frob of the archive\nand its part\n") {
		t.Errorf("the running session does not have it: %s", out)
	}
	if out, _ := a.plain(dir, "status", "asks"); !strings.Contains(out, "debian:frobnicate") {
		t.Errorf("%s", out)
	}
}

// What [tools] allows is fetched for the agent; what is switched off is refused, to a person
// too, with the place of the rule.
func TestToolsByPolicy(t *testing.T) {
	a := newArchive(t, pack("frobnicate", "frob-part", frob)+pack("frob-part", "", part))
	dir := a.project()
	a.policy("[tools]\nallow = ['debian:frobnicate']\ndefault = 'none'\n")
	if out, ok := a.host(dir, "run", "--", "sh", "-c", "get-tool frobnicate && frobnicate; get-tool debian:frob-part && echo CANARY"); ok || !strings.Contains(out, "frob of the archive\nand its part") || !strings.Contains(out, `[tools] default is "none"`) || strings.Contains(out, "CANARY") {
		t.Errorf("%s", out)
	}
	if out, ok := a.host(dir, "tools", "add", "debian:frob-part"); ok || !strings.Contains(out, "policy.toml:3") {
		t.Errorf("%s", out)
	}
	if log := a.log(); !strings.Contains(log, `"via":"tools"`) || !strings.Contains(log, "a tool is fetched") {
		t.Error("the journal does not have it")
	}
	a.policy("[tools]\ndefault = 'none'\n")
	if out, _ := a.run(a.project(), "command -v get-tool; ls -d /ringfence; nosuchcommand"); strings.Contains(out, "get-tool") || strings.Contains(out, "\n/ringfence\n") {
		t.Errorf("nothing of it is there: %s", out)
	}
}

// An archive that lies: another key, an index that another has signed, a package that is not
// the one of the index. Each is refused, and nothing of it is kept. The control is above.
func TestArchivesThatLie(t *testing.T) {
	for name, script := range map[string]string{
		"another key":     `rm -r gnupg; cp archive.gpg true.gpg; SIGN=1`,
		"another index":   `echo "Description: other" >> dists/stable/main/binary-amd64/Packages; cp dists/stable/main/binary-amd64/Packages dists/stable/main/binary-arm64/Packages`,
		"another package": `printf x >> pool/frobnicate_1.0_all.deb`,
		"no signature":    `rm dists/stable/InRelease`,
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t, pack("frobnicate", "", frob))
			shell(t, a.dir, script)
			if strings.Contains(script, "SIGN") {
				a.index()
			}
			dir := a.project()
			if out, ok := a.host(dir, "tools", "add", "debian:frobnicate"); ok || !strings.Contains(out, "could not be fetched") {
				t.Errorf("%s", out)
			}
			if out, _ := a.host(dir, "tools", "ls", "--json"); strings.TrimSpace(out) != "[]" {
				t.Errorf("%s", out)
			}
			if left, _ := filepath.Glob(filepath.Join(a.state, "ringfence/projects/*/tools/new-*")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// tool is the one package of the registries here that has a program: it says its version.
const tool = "frob"

// Tools of the package managers come through the registry door: the young release is held
// back, no script is run, and the program works where it is used.
func TestToolsOfRegistries(t *testing.T) {
	for i, c := range []struct {
		name    string
		prepare func(s *scene)
	}{
		{"npm:frob", func(s *scene) {
			n := s.npmRegistry("127.0.0.1")
			n.have[tool] = []npmRelease{{"1.0.0", time.Now().Add(-aged), "touch ../ran; echo CANARY"}, {"1.1.0", time.Now(), ""}}
			s.env = append(s.env, "npm_config_registry="+n.URL)
		}},
		{"pypi:frob", func(s *scene) {
			p := s.pypi("127.0.0.1")
			p.add(tool, "1.0.0", aged)
			p.add(tool, "1.1.0", time.Hour)
			s.python(p)
		}},
		{"go:example.test/frob", func(s *scene) {
			m := s.modules()
			for version, age := range map[string]time.Duration{"v1.0.0": aged, "v1.1.0": time.Hour} {
				m.have["example.test/frob@"+version] = &release{"module example.test/frob\n\ngo 1.21\n", "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"frob " + version[1:] + "\\n\") }\n", time.Now().Add(-age)}
			}
		}},
		{"crates:frob", func(s *scene) {
			c := s.crates("127.0.0.1")
			c.add(tool, "1.0.0", aged)
			c.add(tool, "1.1.0", time.Hour)
			s.rust(c)
		}},
	} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s := begin(t)
			c.prepare(s)
			dir := s.project()
			cmd := exec.Command(stage.Ringfence, "tools", "add", c.name)
			cmd.Dir, cmd.Env = dir, s.env
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.name+" is there") || strings.Contains(string(out), "CANARY") {
				t.Fatalf("%s", out)
			}
			if out, _ := s.run(dir, "frob; command -v frob; find /ringfence -name ran", "--net", "none"); out != "frob 1.0.0\n/ringfence/tools/bin/frob\n" {
				t.Errorf("%s", out)
			}
		})
	}
}

// What the project's own file denies is not fetched for it either.
func TestToolTheProjectDenies(t *testing.T) {
	if !stage.Mine(0) {
		return
	}
	s := begin(t)
	n := s.npmRegistry("127.0.0.1")
	n.have[tool] = []npmRelease{{"1.0.0", time.Now().Add(-aged), ""}}
	s.env = append(s.env, "npm_config_registry="+n.URL)
	add := func(dir string) (string, error) {
		cmd := exec.Command(stage.Ringfence, "tools", "add", "npm:frob")
		cmd.Dir, cmd.Env = dir, s.env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := add(s.project()); err != nil { // the control
		t.Fatalf("%s", out)
	}
	dir := s.project()
	s.write(filepath.Join(dir, ".ringfence.toml"), "[supply]\ndeny = ['npm:frob']\n")
	if out, err := add(dir); err == nil {
		t.Errorf("it is fetched: %s", out)
	}
}

// deb is a package by hand, with what dpkg-deb would not build.
func deb(t *testing.T, name string, data ...*tar.Header) string {
	t.Helper()
	ball := func(all ...*tar.Header) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, h := range all {
			own, text := *h, h.PAXRecords["text"]
			own.PAXRecords, own.Size = nil, int64(len(text))
			if err := w.WriteHeader(&own); err != nil {
				t.Fatal(err)
			}
			w.Write([]byte(text))
		}
		w.Close()
		z.Close()
		return b.Bytes()
	}
	control := "Package: " + name + "\nVersion: 1.0\nArchitecture: all\nMaintainer: a\nDescription: x\n"
	out := []byte("!<arch>\n")
	for _, m := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", ball(entry("./control", 0o644, control))}, {"data.tar.gz", ball(data...)}} {
		out = fmt.Appendf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.data))
		if out = append(out, m.data...); len(m.data)%2 == 1 {
			out = append(out, '\n')
		}
	}
	path := filepath.Join(t.TempDir(), name+"_1.0_all.deb")
	if err := os.WriteFile(path, out, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func entry(name string, mode int64, text string) *tar.Header {
	return &tar.Header{Name: name, Mode: mode, PAXRecords: map[string]string{"text": text}}
}

func link(kind byte, name, to string) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Linkname: to, Mode: 0o777}
}

// A package that the archive's own key has signed, and that wants out of its directory.
func TestHostilePackages(t *testing.T) {
	victim := filepath.Join(stage.Home, "victim")
	evil := entry("./usr/bin/evil", 0o755, "#!/bin/sh\necho evil runs inside\n")
	for i, c := range []struct {
		name string
		data []*tar.Header
		kept bool // the harmless part of it is
	}{
		{"plain", []*tar.Header{evil}, true}, // the control
		{"upwards", []*tar.Header{evil, entry("../../../../../../../.."+victim+"/escape", 0o644, "x")}, false},
		{"absolute", []*tar.Header{evil, entry(victim+"/escape", 0o644, "x")}, true}, // within its own directory
		{"through-a-link", []*tar.Header{evil, link(tar.TypeSymlink, "./usr/out", victim), entry("./usr/out/escape", 0o644, "x")}, false},
		{"hard-link", []*tar.Header{evil, link(tar.TypeLink, "./usr/bin/theirs", "/etc/passwd")}, false},
		{"setuid", []*tar.Header{entry("./usr/bin/evil", 0o4755, "x")}, false},
		{"device", []*tar.Header{evil, {Typeflag: tar.TypeBlock, Name: "./usr/disk", Devmajor: 8, Mode: 0o666}}, false},
		{"fifo", []*tar.Header{evil, {Typeflag: tar.TypeFifo, Name: "./usr/pipe", Mode: 0o666}}, false},
	} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := os.MkdirAll(victim, 0o755); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(victim)
			a := newArchive(t, pack("harmless", "", part)+"mkdir pool; cp "+deb(t, c.name, c.data...)+" pool/\n")
			dir := a.project()
			out, ok := a.host(dir, "tools", "add", "debian:"+c.name)
			if ok != c.kept {
				t.Errorf("%s", out)
			}
			if left, _ := os.ReadDir(victim); len(left) > 0 {
				t.Errorf("%v was written outside", left)
			}
			got, _ := a.run(dir, "evil; ls /ringfence/tools")
			if strings.Contains(got, "evil runs inside\n") != c.kept || !c.kept && strings.Contains(got, "\nbin\n") && strings.Count(got, "\n") > 3 {
				t.Errorf("%s", got)
			}
		})
	}
}
