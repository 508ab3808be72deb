package state

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/fault"
)

// TestMain runs one action and ends where the test asked for it, when the test
// binary was started again by killed or by TestConcurrentProcesses.
func TestMain(m *testing.M) {
	act := os.Getenv("SESSION_TEST_ACT")
	if act == "" {
		os.Exit(m.Run())
	}
	if at := os.Getenv("SESSION_TEST_KILL_AT"); at != "" {
		step = func(s string) {
			if s == at {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
	}
	if err := actions[act](Dirs{State: os.Getenv("SESSION_TEST_STATE")}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

var actions = map[string]func(Dirs) error{
	"open": func(d Dirs) error {
		_, err := d.Open("/")
		return err
	},
	"ensure": func(d Dirs) error {
		p, err := d.Open("/")
		if err == nil {
			_, err = p.Ensure(agentItems)
		}
		return err
	},
	"remove": func(d Dirs) error {
		// Few descriptors, so that a deep tree cannot have one per level.
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 100, Max: 100}); err != nil {
			return err
		}
		stale, err := d.GC(time.Now().Add(time.Hour), time.Nanosecond)
		for _, s := range stale {
			err = errors.Join(err, d.Remove(s))
		}
		return err
	},
}

var agentItems = []Item{
	{Path: ".claude", Dir: true},
	{Path: ".claude/settings.json", Seed: []byte("{}\n")},
	{Path: ".claude.json", Seed: []byte(`{"a":1}`)},
	{Path: ".cache/npm/deep", Dir: true, Mode: 0o755},
}

// again starts the test binary anew for one action.
func again(act, killAt string, d Dirs) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{"SESSION_TEST_ACT=" + act, "SESSION_TEST_KILL_AT=" + killAt, "SESSION_TEST_STATE=" + d.State}
	cmd.Stderr = os.Stderr
	return cmd
}

// killed runs an action that must be killed on the way.
func killed(t *testing.T, act, at string, d Dirs) {
	t.Helper()
	err := again(act, at, d).Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s was not killed at %q: %v", act, at, err)
	}
}

// complete asserts that the state directory holds whole projects and nothing else.
func complete(t *testing.T, d Dirs, projects int) {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(d.State, "projects"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		inside, err := os.ReadDir(filepath.Join(d.State, "projects", e.Name()))
		var names []string
		for _, i := range inside {
			names = append(names, i.Name())
		}
		if err != nil || !isKey(e.Name()) || strings.Join(names, " ") != "aside home lock record" {
			t.Errorf("%s holds %q (%v)", e.Name(), names, err)
		}
	}
	if len(all) != projects {
		t.Errorf("%d projects, want %d", len(all), projects)
	}
}

func TestOpen(t *testing.T) {
	d := newDirs(t)
	for _, root := range []string{"/", "/srv/a b", "/bytes\xff\xfe", "/new\nline", "/" + strings.Repeat("\xff", 4000)} {
		p := open(t, d, root)
		defer p.Close()
		if fi, err := os.Lstat(p.dir); err != nil || fi.Mode().Perm() != 0o700 || filepath.Base(p.dir) != Key(root) {
			t.Errorf("%q: %v, %v", root, fi, err)
		}
		fd := p.fd
		if r, err := readRecord(fd); err != nil || r.Root != root || time.Since(r.Created) > time.Minute {
			t.Errorf("%q: record %+v, %v", root, r, err)
		}
		second := open(t, d, root)
		if second.dir != p.dir {
			t.Errorf("%q: %q, then %q", root, p.dir, second.dir)
		}
		second.Close()
	}
	complete(t, d, 5)
}

func TestOpenMarksUse(t *testing.T) {
	d := newDirs(t)
	p := open(t, d, "/")
	defer p.Close()
	file := filepath.Join(p.dir, recordName)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	open(t, d, "/").Close()
	if used := lastUsed(p.fd); time.Since(used) > time.Hour {
		t.Errorf("last used %v", used)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("record rewritten: %q, %v", after, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Run("others may write", func(t *testing.T) {
		d := newDirs(t)
		open(t, d, "/").Close()
		if err := os.Chmod(filepath.Join(d.State, "projects"), 0o770); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Open("/"); fault.KindOf(err) != fault.Refused {
			t.Errorf("got %v", err)
		}
	})
	t.Run("key is taken", func(t *testing.T) {
		d := newDirs(t)
		open(t, d, "/other").Close()
		dir := filepath.Join(d.State, "projects")
		if err := os.Rename(filepath.Join(dir, Key("/other")), filepath.Join(dir, Key("/"))); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Open("/"); err == nil || !strings.Contains(err.Error(), `taken by "/other"`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("project is a symlink", func(t *testing.T) {
		d := newDirs(t)
		open(t, d, "/other").Close()
		if err := os.Symlink(Key("/other"), filepath.Join(d.State, "projects", Key("/"))); err != nil {
			t.Fatal(err)
		}
		if p, err := d.Open("/"); err == nil {
			t.Errorf("opened %q", p.dir)
		}
	})
	t.Run("state cannot be made", func(t *testing.T) {
		d := newDirs(t)
		if err := os.MkdirAll(filepath.Dir(d.State), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.State, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Open("/"); err == nil {
			t.Error("opened")
		}
	})
}

func TestConcurrentGoroutines(t *testing.T) {
	d := newDirs(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			p, err := d.Open("/")
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			if _, err := p.Ensure(agentItems); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	complete(t, d, 1)
}

func TestConcurrentProcesses(t *testing.T) {
	d := newDirs(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := again("ensure", "", d).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	complete(t, d, 1)
	open(t, d, "/other").Close() // sweeps
	complete(t, d, 2)
}

// TestConcurrentRemoval: sessions come and go while somebody removes; a session
// that got a project has it until it lets go.
func TestConcurrentRemoval(t *testing.T) {
	d := newDirs(t)
	open(t, d, "/").Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				p, err := d.Open("/")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := p.Ensure(agentItems); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(filepath.Join(p.Home(), ".claude/settings.json")); err != nil {
					t.Error(err)
				}
				p.Close()
			}
		})
		wg.Go(func() {
			for range 25 {
				stale, err := d.GC(time.Now().Add(time.Hour), time.Nanosecond)
				if err != nil {
					t.Error(err)
				}
				for _, s := range stale {
					d.Remove(s) // refusals are the point
				}
			}
		})
	}
	wg.Wait()
	open(t, d, "/").Close()
	complete(t, d, 1)
}

// onStep has do called once, when a change gets as far as at.
func onStep(t *testing.T, at string, do func()) {
	t.Helper()
	old := step
	t.Cleanup(func() { step = old })
	step = func(s string) {
		if s == at {
			step = old
			do()
		}
	}
}

// TestRemovedWhileOpened: the directory was opened, and removed before it was locked.
func TestRemovedWhileOpened(t *testing.T) {
	d := newDirs(t)
	open(t, d, "/gone/x").Close()
	stale, err := d.GC(time.Now(), 0)
	if err != nil || len(stale) != 1 {
		t.Fatalf("%+v, %v", stale, err)
	}
	onStep(t, "opened", func() {
		if err := d.Remove(stale[0]); err != nil {
			t.Error(err)
		}
	})
	p := open(t, d, "/gone/x")
	defer p.Close()
	if placed, err := p.Ensure(agentItems); err != nil {
		t.Error(err)
	} else if _, err := os.Stat(placed[0].Path); err != nil {
		t.Error(err)
	}
	complete(t, d, 1)
}

// TestKilled: whatever the step, no half project is seen, and the next call
// leaves no trace of it. One after the other: a child that another test forks has our
// locks for a moment.
func TestKilled(t *testing.T) {
	for _, at := range []string{"scratch made", "scratch locked", "directories made", "lock written", "record written", "renamed"} {
		t.Run("open at "+at, func(t *testing.T) {
			d := newDirs(t)
			killed(t, "open", at, d)
			if _, err := os.Stat(filepath.Join(d.State, "projects", Key("/"))); (err == nil) != (at == "renamed") {
				t.Errorf("project: %v", err)
			}
			open(t, d, "/").Close()
			complete(t, d, 1)
		})
	}
	for _, at := range []string{"scratch locked", "seed written"} {
		t.Run("ensure at "+at, func(t *testing.T) {
			d := newDirs(t)
			p := open(t, d, "/")
			defer p.Close()
			killed(t, "ensure", at, d)
			if _, err := os.Lstat(filepath.Join(p.Home(), ".claude/settings.json")); err == nil {
				t.Error("half a file is there")
			}
			placed, err := p.Ensure(agentItems)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(placed[1].Path); string(b) != "{}\n" {
				t.Errorf("%q, %v", b, err)
			}
			complete(t, d, 1)
		})
	}
	for _, at := range []string{"retired", "removed one"} {
		t.Run("remove at "+at, func(t *testing.T) {
			d := newDirs(t)
			p := open(t, d, "/")
			if _, err := p.Ensure(agentItems); err != nil {
				t.Fatal(err)
			}
			p.Close()
			killed(t, "remove", at, d)
			if stale, err := d.GC(time.Now(), 0); err != nil || len(stale) != 0 {
				t.Errorf("%v, %v", stale, err)
			}
			complete(t, d, 0)
			open(t, d, "/").Close()
			complete(t, d, 1)
		})
	}
}
