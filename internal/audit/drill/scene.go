package drill

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/state"
)

// scene is what stands on the host during a drill: a workspace, a home directory
// beside it with what must not be read, and a listener.
type scene struct {
	room    string
	work    string
	home    string   // host-side places of the drill
	marks   string   // where what should not run leaves its mark
	outside string   // a file in ringfence's own state directory
	user    string   // the user's own home directory; in the copy outside, home
	kept    string   // ringfence's own state directory
	environ []string // canaries that the launcher has among its variables

	needles []leakscan.Named
	secret  map[string]bool // files of the workspace that hold canaries
	before  map[string]node
	watched []string // what before is about
	port    uint16
	heard   *atomic.Int64 // connections to it
	refused string        // what git said on the host, if it did not do its work

	undo []func()
}

// newScene makes the room and plants the drill.
func newScene(d *Drill, room, outside, user, kept string) (*scene, error) {
	s := &scene{room: room, work: filepath.Join(room, "project"), home: filepath.Join(room, "home"), marks: filepath.Join(room, "marks"),
		outside: outside, user: user, kept: kept, secret: map[string]bool{}, heard: &atomic.Int64{}}
	for _, dir := range []string{room, s.work, s.home, s.marks} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return s, err
		}
	}
	if err := os.WriteFile(outside, []byte(s.canary("the file outside")), 0o600); err != nil {
		return s, err
	}
	if err := s.listen(); err != nil {
		return s, err
	}
	if err := d.plant(s); err != nil {
		return s, err
	}
	var err error
	s.before, err = s.snapshot(s.watched...)
	return s, err
}

func (s *scene) close() {
	if s == nil {
		return
	}
	for _, f := range slices.Backward(s.undo) {
		f()
	}
}

// banner is what the listener says to whoever reaches it.
const banner = "ringfence drill: it arrived"

// listen waits on the host's loopback for what should not arrive.
func (s *scene) listen() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.port = uint16(l.Addr().(*net.TCPAddr).Port)
	s.undo = append(s.undo, func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.heard.Add(1)
			c.SetDeadline(time.Now().Add(sendTime))
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s\n", banner)
			c.Close()
		}
	}()
	return nil
}

// file plants one; a name that ends in a slash is an empty directory.
func (s *scene) file(rel, text string, mode os.FileMode) error {
	p := filepath.Join(s.work, rel)
	if strings.HasSuffix(rel, "/") {
		return os.MkdirAll(p, mode)
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Chmod(p, mode)
}

// files plants several, in the workspace.
func (s *scene) files(all map[string]string) error {
	for rel, text := range all {
		if err := s.file(rel, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// secrets plants files that hold canaries, and must be the same at the end.
func (s *scene) secrets(all map[string]string) error {
	for rel := range all {
		s.secret[rel] = true
		s.watched = append(s.watched, rel)
	}
	return s.files(all)
}

// outsideFile plants one in the home directory beside the workspace.
func (s *scene) outsideFile(rel, text string) error {
	p := filepath.Join(s.home, rel)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		return err
	}
	return os.WriteFile(p, []byte(text), 0o600)
}

// exists reports whether a path of the workspace is on the host.
func (s *scene) exists(rel string) bool {
	_, err := os.Lstat(filepath.Join(s.work, rel))
	return err == nil
}

// git runs the host's git in the workspace, with no settings but the repository's.
func (s *scene) git(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	git, err := state.Dirs{State: s.kept}.Program("git", os.Getenv("PATH"), nil)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir = s.work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_CEILING_DIRECTORIES=" + s.room,
		"GIT_AUTHOR_NAME=drill", "GIT_AUTHOR_EMAIL=drill@drill.test", "GIT_COMMITTER_NAME=drill", "GIT_COMMITTER_EMAIL=drill@drill.test"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// repository makes the workspace one, with everything in it committed that is not
// named.
func (s *scene) repository(ctx context.Context, but ...string) error {
	if err := s.git(ctx, "init", "-q", "."); err != nil {
		return err
	}
	add := []string{"add", "--", "."}
	for _, b := range but {
		add = append(add, ":!"+b)
	}
	if err := s.git(ctx, add...); err != nil {
		return err
	}
	return s.git(ctx, "commit", "-q", "--allow-empty", "-m", "before the drill")
}

// vars are what the scripts know of the scene.
func (s *scene) vars() map[string]string {
	return map[string]string{"GIT_CEILING_DIRECTORIES": s.room, "DRILL_HOME": s.home, "DRILL_MARKS": s.marks, "DRILL_OUTSIDE": s.outside,
		"GIT_AUTHOR_NAME": "agent", "GIT_AUTHOR_EMAIL": "agent@drill.test", "GIT_COMMITTER_NAME": "agent", "GIT_COMMITTER_EMAIL": "agent@drill.test"}
}
