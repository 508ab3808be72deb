package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/wait"
)

//go:embed testdata/npm/package-lock.json
var lock []byte

// packagers returns the node_modules with the package managers of the lock file:
// installed by root for all or by the user for himself.
func packagers(t *testing.T) string {
	t.Helper()
	sum := sha256.Sum256(lock)
	name := fmt.Sprintf("ringfence-test/packagers-%x", sum[:6])
	places := []string{os.Getenv("RINGFENCE_TEST_TOOLS"), filepath.Join("/var/cache", name)}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		places = append(places, filepath.Join(u.HomeDir, ".cache", name))
	}
	for _, place := range places {
		dir := filepath.Join(place, "node_modules")
		if _, err := os.Stat(dir); place != "" && err == nil {
			return dir
		}
	}
	t.Fatalf("no node_modules in %q: run `make tools`", places)
	return ""
}

// program returns the beginning of the command line of a tool in packagers, or of
// the npm that the machine has.
func program(t *testing.T, tool string) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is missing: ", err)
	}
	kind, _, _ := strings.Cut(tool, "-")
	switch {
	case tool == "npm":
		npm, err := exec.LookPath("npm")
		if err != nil {
			t.Fatal("npm is missing: ", err)
		}
		return []string{npm}
	case tool == "pnpm-12": // a program of its own; the package has a stub
		arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
		return []string{filepath.Join(packagers(t), "@pnpm/exe.linux-"+arch, "pnpm")}
	}
	script := map[string]string{"npm": "bin/npm-cli.js", "pnpm": "bin/pnpm.cjs", "yarn": "bin/yarn.js"}[kind]
	return []string{node, filepath.Join(packagers(t), tool, script)}
}

// project is a place to install to with one tool, and a home of its own.
type project struct {
	t       *testing.T
	program []string
	home    string
	dir     string
	tmp     string
	base    []string // environment
}

func newProject(t *testing.T, tool, registry string) *project {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is missing: ", err)
	}
	p := &project{t: t, program: program(t, tool), home: t.TempDir(), dir: t.TempDir(), tmp: t.TempDir()}
	p.base = []string{"PATH=" + filepath.Dir(node) + ":/usr/bin:/bin", "HOME=" + p.home, "TMPDIR=" + p.tmp,
		"YARN_NPM_REGISTRY_SERVER=" + registry, "YARN_UNSAFE_HTTP_WHITELIST=127.0.0.1", "YARN_NODE_LINKER=node-modules",
		"YARN_ENABLE_TELEMETRY=0", "YARN_ENABLE_GLOBAL_CACHE=0", "YARN_ENABLE_IMMUTABLE_INSTALLS=0"}
	p.write(filepath.Join(p.home, ".npmrc"), "registry="+registry+"\nfetch-retries=0\naudit=false\nfund=false\nupdate-notifier=false\n")
	p.write(filepath.Join(p.dir, "package.json"), `{"name":"app","version":"1.0.0","license":"MIT"}`)
	p.write(filepath.Join(p.dir, "yarn.lock"), "")
	return p
}

func (p *project) write(path, data string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// brake places the files of the settings and returns their environment.
func (p *project) brake(o SupplyRules) []string {
	p.t.Helper()
	o.Shell = filepath.Join(p.tmp, "script-shell")
	vars, files, _ := Supply(o)
	var env []string
	for _, v := range vars {
		env = append(env, v.Name+"="+v.Value)
	}
	for _, f := range files {
		path := strings.Replace(f.Path, "~", p.home, 1)
		p.write(path, string(f.Data))
		if err := os.Chmod(path, map[bool]os.FileMode{false: 0o644, true: 0o755}[f.Exec]); err != nil {
			p.t.Fatal(err)
		}
	}
	return env
}

// run runs the tool and returns what it said.
func (p *project) run(env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	argv := append(p.program[:len(p.program):len(p.program)], args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(p.base[:len(p.base):len(p.base)], env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return said.String(), err
}

// must runs what has to succeed.
func (p *project) must(env []string, args ...string) string {
	p.t.Helper()
	said, err := p.run(env, args...)
	for range 4 {
		if err == nil || !p.stumbled() {
			break
		}
		said, err = p.run(env, args...)
	}
	if err != nil {
		p.t.Fatalf("%q: %v\n%s", args, err, said)
	}
	return said
}

// stumbled holds where yarn 4 failed by a fault of its own, and takes the sign away: on a
// slow disk it starts a script before the file is open that what the script says goes to.
func (p *project) stumbled() bool {
	logs, _ := filepath.Glob(filepath.Join(p.tmp, "xfs-*", "build.log"))
	found := false
	for _, l := range logs {
		data, _ := os.ReadFile(l)
		if bytes.Contains(data, []byte("The argument 'stdio' is invalid")) {
			found = os.Remove(l) == nil
		}
	}
	return found
}

// version is the installed version of a package, empty if there is none.
func (p *project) version(name string) string {
	data, err := os.ReadFile(filepath.Join(p.dir, "node_modules", name, "package.json"))
	if err != nil {
		return ""
	}
	var m struct{ Version string }
	if err := json.Unmarshal(data, &m); err != nil {
		p.t.Error(err)
	}
	return m.Version
}

// ran says whether the install script of a package has run.
func (p *project) ran(name string) bool {
	_, err := os.Stat(filepath.Join(p.home, "ran-"+name))
	return err == nil
}
