package golden

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"ringfence.dev/ringfence/test/stage"
)

// home is where every run has its HOME. It is the same path each time, because
// names of state come from it; it is made anew each time.
const home = stage.Work + "/home"

// A place is a HOME with a project in it, for one role.
type place struct {
	t    *testing.T
	role role
	dir  string // where commands run
	env  []string
}

// newPlace unpacks archives of testdata/project into a fresh HOME and runs the
// commands that stand above their files. The user stands in ~/project.
func newPlace(t *testing.T, r role, projects ...string) *place {
	t.Helper()
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, role: r, dir: home + "/project", env: environment()}
	var setup []string
	for _, name := range projects {
		a, err := txtar.ParseFile(filepath.Join("testdata/project", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			p.write(f.Name, f.Data)
		}
		setup = append(setup, string(a.Comment))
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.own()
	for _, lines := range setup {
		cmd := exec.Command("/bin/sh", "-ec", lines)
		cmd.Env = append(environment(), "PATH=/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=", "GIT_DEFAULT_HASH=sha1",
			"GIT_DEFAULT_REF_FORMAT=files", "GIT_AUTHOR_DATE=2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z")
		if _, text, code := p.run(cmd); code != 0 {
			t.Fatalf("%s\n%s", lines, text)
		}
	}
	return p
}

// environment has nothing of the machine's. PATH leads to programs of the test
// alone: what a plan shows must not depend on what is installed here.
func environment() []string {
	return []string{"HOME=" + home, "PATH=" + home + "/.local/bin", "SSL_CERT_FILE=" + home + "/certificates.pem",
		"LANG=C.UTF-8", "TERM=xterm", "SHELL=/bin/sh", "TZ=UTC", "COLUMNS=80"}
}

// write writes a file below HOME; a script can be executed.
func (p *place) write(name string, data []byte) {
	p.t.Helper()
	file, mode := filepath.Join(home, name), os.FileMode(0o644)
	if bytes.HasPrefix(data, []byte("#!")) {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, data, mode); err != nil {
		p.t.Fatal(err)
	}
}

// own gives everything to the role.
func (p *place) own() {
	p.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, p.role.uid, p.role.gid))
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// ringfence runs it there.
func (p *place) ringfence(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	cmd := exec.Command(stage.Ringfence, args...)
	cmd.Env = p.env
	return p.run(cmd)
}

func (p *place) run(cmd *exec.Cmd) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, talk strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &out, &talk
	if p.role.uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.role.uid), Gid: uint32(p.role.gid)}}
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return out.String(), talk.String(), cmd.ProcessState.ExitCode()
}
