package oracle

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/test/built"
)

// probeName is the name under which this test binary is the probe.
const probeName = "oracle-probe"

// ordinaryID is a user that no other program of the host runs as.
const ordinaryID = 1711

// scene is a home with a workspace for one user, and canaries around it.
type scene struct {
	t                *testing.T
	uid              int
	bin              string // ringfence
	root, home, work string
	canary           string // in the launcher's environment and in a process of the host
	word             string // a value that is meant to come inside
}

func newScene(t *testing.T, bin string, uid int) *scene {
	t.Helper()
	root, err := os.MkdirTemp("", "oracle-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	s := &scene{t: t, uid: uid, bin: bin, root: root, home: root + "/home", work: root + "/home/work",
		canary: rand.Text(), word: rand.Text()}
	for _, d := range []string{s.work + "/hidden dir", root + "/shared", root + "/out"} {
		s.must(os.MkdirAll(d, 0o755))
	}
	for _, f := range []string{s.work + "/hidden dir/secret", s.work + "/hidden", root + "/shared/file"} {
		s.must(os.WriteFile(f, []byte(s.canary), 0o644))
	}
	// Decoys are not walls, and bubblewrap has none to compare.
	s.must(os.MkdirAll(s.home+"/.config/ringfence", 0o755))
	s.must(os.WriteFile(s.home+"/.config/ringfence/policy.toml", []byte("[broker]\ndecoys = false\n"), 0o644))
	self, err := os.ReadFile("/proc/self/exe")
	s.must(err)
	s.must(os.WriteFile(s.probe(), self, 0o755))
	s.must(filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, uid, uid)
	}))
	s.must(os.Chmod(root, 0o755))
	return s
}

func (s *scene) probe() string { return s.work + "/" + probeName }

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// command is a program of the user's, started carelessly: with a descriptor of his
// home and a canary in the environment.
func (s *scene) command(argv ...string) *exec.Cmd {
	home, err := os.Open(s.home)
	s.must(err)
	s.t.Cleanup(func() { home.Close() })
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.ExtraFiles = s.work, []*os.File{home}
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.home, "LANG=C.UTF-8", "TERM=xterm", "ORACLE_CANARY=" + s.canary}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
	}
	return cmd
}

// output runs a command and returns what it printed.
func (s *scene) output(argv ...string) []byte {
	s.t.Helper()
	cmd := s.command(argv...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s: %v\n%s%s", strings.Join(argv[:min(2, len(argv))], " "), err, out.Bytes(), talk.Bytes())
	}
	return out.Bytes()
}

// see runs the probe by way of a launcher.
func (s *scene) see(argv ...string) *sight {
	s.t.Helper()
	var v sight
	if b := s.output(argv...); json.Unmarshal(b, &v) != nil {
		s.t.Fatalf("the probe said %q", b)
	}
	return &v
}

// ringfence is the command line under test, with one more flag.
func (s *scene) ringfence(flag string) []string {
	return []string{s.bin, "run", flag, "--mask", "hidden", "--mask", "hidden dir", "--mask", "nowhere", "--ro", s.root + "/shared",
		"--rw", s.root + "/out", "--env", "ORACLE_WORD=" + s.word, "--", s.probe()}
}

// bubblewrap writes the script of the dry run to a file, as a reader would. It comes
// after a first run of ringfence: a dry run makes no project state to be bound.
func (s *scene) bubblewrap() []string {
	s.t.Helper()
	script := s.root + "/bubblewrap"
	s.must(os.WriteFile(script, s.output(s.ringfence("--dry-run=bwrap")...), 0o644))
	return []string{"/bin/bash", script}
}

// stand starts a process of the host that shows the canary to whoever sees it.
func (s *scene) stand() {
	cmd := s.command("/bin/sh", "-c", "read line", s.canary)
	stdin, err := cmd.StdinPipe()
	s.must(err)
	s.must(cmd.Start())
	s.t.Cleanup(func() {
		io.WriteString(stdin, "\n")
		cmd.Wait()
	})
}

// buildRingfence builds what is tested; ORACLE_BIN names one that is built already,
// for a user who cannot.
func buildRingfence(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("ORACLE_BIN"); bin != "" {
		return bin
	}
	dir, err := os.MkdirTemp("", "oracle-bin-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := built.Ringfence(dir + "/ringfence"); err != nil {
		t.Fatal(err)
	}
	return dir + "/ringfence"
}
