package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// These tests run on the hierarchy of the machine. Where it lends us nothing (an
// ordinary user without a manager) they hold the Report to saying so.

// helper runs this binary in g and returns its output and how it ended.
func helper(t *testing.T, g *Group, name string) (string, error) {
	t.Helper()
	c := exec.Command("/proc/self/exe", name)
	var out bytes.Buffer
	c.Stdout = &out
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if g != nil {
		if err := g.Join(c.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	stdin.Write([]byte{'g'})
	err = c.Wait()
	return out.String(), err
}

func session(t *testing.T) string {
	return fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ToLower(t.Name()))
}

func open(t *testing.T, want Limits) (*Group, Report) {
	t.Helper()
	g, r, err := Open(session(t), want)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, r
}

func TestPidsLimitBites(t *testing.T) {
	g, r := open(t, Limits{Pids: 24})
	if out, err := helper(t, nil, "__spawn"); err != nil || out != "40\n" {
		t.Fatalf("control: outside the group: %q, %v", out, err)
	}
	switch r.Pids.By {
	case V1, V2, Scope:
	default:
		assertNothingLent(t, g, r.Pids)
		return
	}
	out, err := helper(t, g, "__spawn")
	if err != nil || !strings.Contains(out, unix.EAGAIN.Error()) {
		t.Errorf("inside: %q, %v; want a fork refused with EAGAIN", out, err)
	}
	if e := g.Events(); e.Refused == 0 {
		t.Errorf("events %+v count no refused fork", e)
	}
}

func TestMemoryLimitBites(t *testing.T) {
	g, r := open(t, Limits{Memory: 64 << 20})
	if out, err := helper(t, nil, "__hog"); err != nil || out != "touched\n" {
		t.Fatalf("control: outside the group: %q, %v", out, err)
	}
	if !r.Memory.Enforced() {
		assertNothingLent(t, g, r.Memory)
		return
	}
	out, err := helper(t, g, "__hog")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("inside: %q, %v; want SIGKILL", out, err)
	}
	if e := g.Events(); e.OOMKills == 0 {
		t.Errorf("events %+v count no OOM kill", e)
	}
}

// assertNothingLent checks that a host that enforces nothing through groups was
// asked, that the Report says what stood in the way, and that nothing was made.
func assertNothingLent(t *testing.T, g *Group, l Limit) {
	t.Helper()
	for _, by := range []string{"cgroup v2: ", "cgroup v1: ", "systemd: "} {
		if !strings.Contains(l.Why, by) {
			t.Errorf("why %q does not say why not %s", l.Why, by)
		}
	}
	if g.janitor != nil || len(g.dirs()) != 0 || g.FD() != -1 {
		t.Errorf("a group without mechanism holds %+v", g)
	}
	v, err := hostSystem().look()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"pids", "memory"} {
		if dir, ok := v.v1(c); ok && os.Mkdir(filepath.Join(dir, "ringfence-control"), 0o755) == nil {
			os.Remove(filepath.Join(dir, "ringfence-control"))
			t.Errorf("control: %s of v1 is ours to use after all", c)
		}
	}
}

func TestCloseKillsAndRemoves(t *testing.T) {
	g, _ := open(t, Limits{Pids: 50, Memory: 64 << 20})
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Join(c.Process.Pid); err != nil {
		t.Fatal(err)
	}
	dirs := g.dirs()
	if len(dirs) == 0 {
		if err := c.Process.Kill(); err != nil { // nothing lent: it is not in any group
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	c.Wait()
	if st := c.ProcessState.Sys().(syscall.WaitStatus); st.Signal() != syscall.SIGKILL {
		t.Errorf("what was in the group ended with %v", c.ProcessState)
	}
	assertGone(t, dirs)
}

// assertGone checks that no directory is left. A scope goes when systemd gets to
// it, so only ours are looked at.
func assertGone(t *testing.T, dirs []string) {
	t.Helper()
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) && !strings.HasSuffix(dir, ".scope") {
			t.Errorf("%s is still there (%v)", dir, err)
		}
	}
}

func TestKilledSupervisorLeavesNothing(t *testing.T) {
	c := exec.Command("/proc/self/exe", "__open", session(t))
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	janitor, member, dirs := readOpen(t, stdout)
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("control: before the kill: %v", err)
		}
	}
	memberFD := pidfd(t, member)
	if janitor == 0 { // nothing lent, and so nothing to tidy
		if len(dirs) != 0 {
			t.Fatalf("%q are without a janitor", dirs)
		}
		unix.PidfdSendSignal(memberFD, unix.SIGKILL, nil, 0)
		return
	}
	janitorFD := pidfd(t, janitor)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitExit(t, "the process in the group", memberFD)
	awaitExit(t, "the janitor", janitorFD)
	assertGone(t, dirs)
}

func readOpen(t *testing.T, r io.Reader) (janitor, member int, dirs []string) {
	t.Helper()
	sc := bufio.NewScanner(r)
	if !sc.Scan() {
		t.Fatal("the supervisor said nothing")
	}
	if _, err := fmt.Sscan(sc.Text(), &janitor, &member); err != nil {
		t.Fatalf("the supervisor said %q", sc.Text())
	}
	for sc.Scan() && sc.Text() != "end" {
		dirs = append(dirs, sc.Text())
	}
	return janitor, member, dirs
}

func pidfd(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func awaitExit(t *testing.T, what string, fd int) {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			t.Fatalf("%s goes on living", what)
		}
		return
	}
}

// The v2 hierarchy may be without controllers (a hybrid host), but groups, kill
// and CLONE_INTO_CGROUP are its own and can be tried.
func TestV2GroupWithoutLimits(t *testing.T) {
	s := hostSystem()
	v, err := s.look()
	if err != nil {
		t.Fatal(err)
	}
	own, _, ok := v.v2()
	if !ok {
		t.Fatal("no v2 hierarchy on this host")
	}
	p := part{by: V2, dir: filepath.Join(own, "ringfence-"+session(t))}
	if err := s.create(p); err != nil {
		if writable(own) {
			t.Fatal(err)
		}
		return // an ordinary user is refused, as the Report would say
	}
	g := &Group{sys: s, parts: []part{p}, fd: -1}
	if err := g.openFD(); err != nil || g.FD() < 0 {
		t.Fatalf("fd %d, %v", g.FD(), err)
	}
	c := exec.Command("sleep", "60")
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if dir, err := s.groupOf(v, c.Process.Pid); err != nil || dir != p.dir {
		t.Errorf("the child was born in %q, %v; want %q", dir, err, p.dir)
	}
	if err := g.Join(c.Process.Pid); err != nil {
		t.Errorf("join of who is in: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	c.Wait()
	assertGone(t, []string{p.dir})
}

// Who is forked Within is in the group from birth, and the thread that forked is
// back where it was.
func TestBornWithin(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g, r := open(t, Limits{Pids: 50, Memory: 64 << 20})
	before, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sleep", "60")
	if err := g.Within(func(fd int) error {
		c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: fd >= 0, CgroupFD: fd}
		return c.Start()
	}); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	after, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("this thread was in\n%sand is in\n%s(%v)", before, after, err)
	}
	theirs, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.Process.Pid))
	if n := bytes.Count(theirs, []byte("/ringfence-"+session(t)+"\n")); err != nil || n != len(g.parts) {
		t.Errorf("limits %+v: the child is in %d of %d groups:\n%s(%v)", r, n, len(g.parts), theirs, err)
	}
	tries, want := 0, 1
	if g.FD() >= 0 {
		want = 2 // the kernel may know no birth into a group
	}
	if err := g.Within(func(int) error { tries++; return io.EOF }); !errors.Is(err, io.EOF) || g.born || tries != want {
		t.Errorf("a fork that failed %d times: %v", tries, err)
	}
}

func TestJanitorTouchesNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ringfence-innocent")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, "/sys/fs/cgroup", "ringfence-relative"} {
		c := exec.Command("/proc/self/exe", JanitorArg, name) // stdin is /dev/null: end of file at once
		if err := c.Run(); err == nil {
			t.Errorf("the janitor took %q for a group of ours", name)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestJanitorIsCleanAndAlone(t *testing.T) {
	t.Setenv("RINGFENCE_TEST_SECRET", "canary")
	j, err := startJanitor(nil)
	if err != nil {
		t.Fatal(err)
	}
	fd := pidfd(t, j.pid())
	if env := environ(t, j.pid()); env != "GOMAXPROCS=1\x00" {
		t.Errorf("environment %q", env)
	}
	if sid, err := unix.Getsid(j.pid()); err != nil || sid != j.pid() {
		t.Errorf("session %d, %v; want its own", sid, err)
	}
	j.Stop()
	awaitExit(t, "the janitor", fd)
}

// environ reads the environment of a process that may be in the middle of exec,
// where the kernel shows none for an instant.
func environ(t *testing.T, pid int) (env string) {
	t.Helper()
	wait.Eventually(t, "an environment", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Fatal(err)
		}
		env = string(b)
		return env != ""
	})
	return env
}

func BenchmarkOpenClose(b *testing.B) {
	for b.Loop() {
		g, _, err := Open("bench", Limits{Pids: 100, Memory: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

func BenchmarkChoose(b *testing.B) {
	s := hostSystem()
	for b.Loop() {
		r := newReport(Limits{Pids: 100, Memory: 64 << 20})
		s.choose("ringfence-bench", &r)
	}
}
