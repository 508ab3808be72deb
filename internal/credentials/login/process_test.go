package login

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// TestMain lets the binary act as one more process of ringfence.
func TestMain(m *testing.M) {
	if a := os.Getenv("LOGIN_TEST_AGENT"); a != "" {
		if err := act(Agent(a)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// act prints a token. Told so, it dies by SIGKILL at a step.
func act(a Agent) error {
	c := config(a, os.Getenv("LOGIN_TEST_DIR"), os.Getenv("LOGIN_TEST_SERVER"))
	c.Warn = func(err error) { fmt.Fprintln(os.Stderr, "warn:", err) }
	l, err := Open(c)
	if err != nil {
		return err
	}
	l.step = func(s string) {
		if s == os.Getenv("LOGIN_TEST_DIE") {
			unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	t, err := l.Token(ctx)
	if err == nil {
		fmt.Print(t.Value())
	}
	return err
}

// process is the binary once more, not started yet.
func (sc *scene) process(die string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	var out, warn bytes.Buffer
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "LOGIN_TEST_AGENT="+string(sc.c.Agent), "LOGIN_TEST_DIR="+sc.dir, "LOGIN_TEST_SERVER="+sc.s.URL, "LOGIN_TEST_DIE="+die)
	cmd.Stdout, cmd.Stderr = &out, &warn
	return cmd, &out, &warn
}

// TestTwenty: twenty processes over an expiry make one request, and all get the new
// token.
func TestTwenty(t *testing.T) {
	each(t, func(t *testing.T, a Agent) {
		sc := newScene(t, a, past)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				cmd, out, warn := sc.process("")
				if err := cmd.Run(); err != nil || out.String() != accessOf(1) || warn.Len() > 0 {
					t.Errorf("%v: %s %s", err, out, warn)
				}
			})
		}
		all.Wait()
		if asked, issued := sc.s.count(); asked != 1 || issued != 1 {
			t.Errorf("asked %d times, issued %d", asked, issued)
		}
		onlyOurs(t, sc)
	})
}

// TestTwentyWait: the same with a server that is away at first.
func TestTwentyWait(t *testing.T) {
	sc := newScene(t, Claude, past)
	sc.s.before = func(n int) (int, string) {
		if n <= 3 {
			return 503, ""
		}
		return 0, ""
	}
	l := sc.open(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if i%2 == 0 {
				cmd, out, warn := sc.process("")
				if err := cmd.Run(); err != nil || out.String() != accessOf(1) {
					t.Errorf("%v: %s %s", err, out, warn)
				}
			} else if got, err := l.Token(soon(t)); err != nil || got.Value() != accessOf(1) {
				t.Error(got.Value(), err)
			}
		})
	}
	all.Wait()
	if asked, issued := sc.s.count(); asked != 4 || issued != 1 {
		t.Errorf("asked %d times, issued %d", asked, issued)
	}
}

// TestKill: whenever a process is killed, the file is whole; and from the ledger on
// nothing that was issued is lost.
func TestKill(t *testing.T) {
	each(t, func(t *testing.T, a Agent) {
		for _, step := range []string{"answered", "kept", "written"} {
			sc := newScene(t, a, past)
			was := sc.text(t)
			cmd, _, warn := sc.process(step)
			var exit *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
				t.Fatal(err, warn)
			}
			if text := sc.text(t); step != "written" && text != was {
				t.Errorf("%s: the file is %s", step, text)
			}
			// The client's lock is left behind. It counts as such by its age.
			lock := filepath.Join(filepath.Dir(sc.c.Path), ".oauth_refresh.lock")
			for _, dir := range []string{lock, filepath.Join(sc.dir, ".claude.lock")} {
				if err := os.Chtimes(dir, past, past); (err != nil) == (a == Claude) {
					t.Error(err)
				}
			}
			got, err := sc.open(t).Token(soon(t))
			if step == "answered" {
				if err == nil || !strings.Contains(err.Error(), "invalid_grant") || sc.text(t) != was {
					t.Error(step, err)
				}
				continue
			}
			if err != nil || got.Value() != accessOf(1) || !strings.Contains(sc.text(t), "refresh-1") {
				t.Error(step, got.Value(), err)
			}
			if asked, _ := sc.s.count(); asked != 1 {
				t.Error(step, asked)
			}
		}
	})
}

// TestReadOnly: where the file cannot be replaced the new token is used all the
// same, by every process, and one more renewal goes on from there.
func TestReadOnly(t *testing.T) {
	sc := newScene(t, Gemini, past)
	was := sc.text(t)
	run := func() (string, string) {
		t.Helper()
		cmd, out, warn := sc.process("")
		if os.Getuid() == 0 {
			// To root no directory is read-only.
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		if err := cmd.Run(); err != nil {
			t.Fatal(err, warn)
		}
		return out.String(), warn.String()
	}
	if err := os.Mkdir(sc.c.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		give(t, sc.dir, 65534)
	}
	home := filepath.Dir(sc.c.Path)
	if err := os.Chmod(home, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(home, 0o700)
	for range 2 {
		got, warn := run()
		if got != accessOf(1) || !strings.Contains(warn, "was renewed, but not written") || strings.Contains(warn, "refresh-1") {
			t.Error(got, warn)
		}
	}
	if asked, _ := sc.s.count(); asked != 1 || sc.text(t) != was {
		t.Error(asked, sc.text(t))
	}
	ledger := filepath.Join(sc.c.State, ownName(sc.c)+".json")
	if fi, err := os.Stat(ledger); err != nil || fi.Mode() != 0o600 {
		t.Error(fi, err)
	}
	// The client finds its token used up and empties the file.
	os.Chmod(home, 0o700)
	sc.put(t, `{"access_token":"","refresh_token":"","expiry_date":0}`)
	if got, warn := run(); got != accessOf(1) || warn != "" || !strings.Contains(sc.text(t), "refresh-1") {
		t.Error(got, warn, sc.text(t))
	}
	if text, err := os.ReadFile(ledger); err != nil || bytes.Contains(text, []byte("refresh-1")) {
		t.Error("the ledger still holds the token", err)
	}
}

// give hands a tree, and the way to it, to another user.
func give(t *testing.T, dir string, uid int) {
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, uid, uid)
		}
		if err != nil {
			t.Fatal(err)
		}
		return nil
	})
	for up := filepath.Dir(dir); strings.HasPrefix(up, os.TempDir()+"/"); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
