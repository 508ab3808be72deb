package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

func TestMain(m *testing.M) { stage.Main(m) }

// world is a user with a home and a project.
type world struct {
	t             *testing.T
	home, project string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := os.MkdirTemp(stage.Work, "sessions-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, project: filepath.Join(home, "project")}
	if err := os.Mkdir(w.project, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.end(); os.RemoveAll(home) })
	return w
}

// end ends what still runs of this test, also of one that has failed: the next one is
// played on the same stage.
func (w *world) end() {
	for _, s := range w.ps() {
		w.try("stop", "--time", "0", s.Session) // it may have ended meanwhile
	}
	if !wait.For(func() bool { return len(w.ps()) == 0 }) {
		w.t.Errorf("left behind: %+v", w.ps())
	}
}

func (w *world) env() []string {
	return []string{"HOME=" + w.home, "PATH=" + filepath.Dir(stage.Ringfence) + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm", "TMPDIR=/tmp"}
}

func (w *world) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, stage.Ringfence, args...)
	cmd.Env, cmd.Dir = w.env(), w.project
	return cmd
}

// try runs ringfence and returns what it said and its status.
func (w *world) try(args ...string) (stdout, stderr string, status int) {
	cmd := w.command(args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Errorf("ringfence %q: %v", args, err)
		return "", err.Error(), -1
	}
	return out.String(), talk.String(), cmd.ProcessState.ExitCode()
}

// must runs ringfence and returns what it printed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, talk, status := w.try(args...)
	if status != 0 {
		w.t.Errorf("ringfence %q: status %d: %s", args, status, talk)
	}
	return strings.TrimSpace(out)
}

// session is what ps tells of one.
type session struct {
	Session, Name, State, Dir string
	PID                       int
	Memory                    int64
	Attached                  bool
	Exit                      *int
	Bare                      bool `json:"only_record"`
}

// ps lists the sessions of this test.
func (w *world) ps(args ...string) (list []session) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.must(append([]string{"ps", "--json"}, args...)...)), &list); err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(s session) bool { return s.Dir != w.project })
}

// left lists what sessions have left in the state directory, but for journals.
func (w *world) left() (out []string) {
	root := filepath.Join(w.home, ".local/state/ringfence/sessions")
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
