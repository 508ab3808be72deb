package registry

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	if out, _ := a.run(a.project(), script); strings.Contains(out, "frob of") {
		t.Errorf("another project has it: %s", out)
	}
	if out, _ := a.host(dir, "tools", "ls"); !strings.Contains(out, "debian:frobnicate") || !strings.Contains(out, "frob-part") {
		t.Errorf("%s", out)
	}
	if _, err := os.Lstat(filepath.Join(stage.Home, "ran")); err == nil {
		t.Error("a script of the package ran outside")
	}
	if out, ok := a.host(dir, "tools", "rm", "debian:frobnicate"); !ok {
		t.Errorf("%s", out)
	}
	if out, _ := a.run(dir, script); strings.Contains(out, "frob of") {
		t.Errorf("it is still there: %s", out)
	}
}
