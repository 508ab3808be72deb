package sys

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// spawned runs a program with its output in a pipe.
func spawned(t *testing.T, s Spawn) (out string, ws unix.WaitStatus, err error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s.Files, s.Control = []int{int(null.Fd()), int(w.Fd()), int(w.Fd())}, -1
	pid, err := s.Start(wait.Patience)
	w.Close()
	if err != nil {
		return "", 0, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	return string(b), ws, nil
}

func TestSpawn(t *testing.T) {
	const look = `echo "$0 $1 $A"; pwd; grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; ps -o sid= -p $$ | grep -q "^ *$$\$" && echo leads; exit 7`
	out, ws, err := spawned(t, Spawn{Path: "/bin/sh", Argv: []string{"sh", "-c", look, "name", "one"}, Env: []string{"A=b", "PATH=/usr/bin:/bin"}, Dir: "/usr"})
	if err != nil || ws.ExitStatus() != 7 {
		t.Fatal(err, ws)
	}
	for _, want := range []string{"name one b\n", "/usr\n", "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "leads"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %q", want, out)
		}
	}
	for _, s := range []Spawn{
		{Path: "/nowhere", Argv: []string{"x"}, Dir: "/"},
		{Path: "/bin/sh", Argv: []string{"x"}, Dir: "/nowhere"},
	} {
		if _, _, err := spawned(t, s); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("%s in %s: %v", s.Path, s.Dir, err)
		}
	}
	if _, _, err := spawned(t, Spawn{Path: "/etc/passwd", Argv: []string{"x"}, Dir: "/"}); !errors.Is(err, syscall.EACCES) {
		t.Errorf("what cannot be executed: %v", err)
	}
	if _, err := (&Spawn{Path: "/bin/true", Argv: []string{"x"}, Dir: "/", Control: -1}).Start(time.Second); err == nil {
		t.Error("it began without descriptors")
	}
}

// A child in a user namespace of its own has all rights there until its program begins.
func TestSpawnNamespaces(t *testing.T) {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	name, err := unix.BytePtrFromString("spawned")
	if err != nil {
		t.Fatal(err)
	}
	s := Spawn{Path: "/bin/sh", Argv: []string{"sh", "-c", "id -u; hostname; grep CapBnd /proc/self/status"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/",
		Namespaces: unix.CLONE_NEWUSER | unix.CLONE_NEWUTS,
		Born:       func(pid int) error { return MapUser(proc, pid, IDs{1234, 1234}, IDs{os.Getuid(), os.Getgid()}) },
		Before: []Call{{Number: unix.SYS_SETHOSTNAME, Args: [5]uintptr{uintptr(unsafe.Pointer(name)), 7}, Keep: name},
			{Number: unix.SYS_PRCTL, Args: [5]uintptr{unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN}}}}
	out, ws, err := spawned(t, s)
	if errors.Is(err, unix.EPERM) {
		t.Fatal("no user namespaces here")
	}
	if err != nil || ws.ExitStatus() != 0 || !strings.HasPrefix(out, "1234\nspawned\n") || strings.Contains(out, "CapBnd:\t000001ffffffffff") {
		t.Errorf("%q, %v, %v", out, ws, err)
	}
	s.Born = func(int) error { return unix.EDOM }
	if _, _, err := spawned(t, s); !errors.Is(err, unix.EDOM) {
		t.Errorf("a child went on without its maps: %v", err)
	}
}

// Many at once, from many goroutines: what the runtime does meanwhile harms no child.
func TestSpawnMany(t *testing.T) {
	done := make(chan error)
	for range 8 {
		go func() {
			var fail error
			for range 40 {
				_, ws, err := spawned(t, Spawn{Path: "/bin/true", Argv: []string{"true"}, Dir: "/"})
				if err != nil || ws.ExitStatus() != 0 {
					fail = errors.Join(fail, err)
				}
			}
			done <- fail
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A child that never comes to its program does not keep its parent, one that was stopped
// even less, and one that is slow is waited for: here the pipe is held open by somebody
// else, as by such a child.
func TestSpawnStuck(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	if err := began(p[0], 30*time.Millisecond, func() bool { return false }); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
	looked := 0
	if err := began(p[0], 10*time.Second, func() bool { looked++; return true }); !errors.Is(err, ErrStuck) || looked != 1 {
		t.Errorf("%v after %d looks", err, looked)
	}
	slow := func() bool { // and begins in the end
		if looked++; looked == 4 {
			unix.Close(p[1])
		}
		return false
	}
	if err := began(p[0], 10*time.Second, slow); err != nil {
		t.Error(err)
	}
}

func TestStopped(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if stopped(cmd.Process.Pid) {
		t.Error("it was not stopped")
	}
	cmd.Process.Signal(unix.SIGSTOP)
	wait.Eventually(t, "it is stopped", func() bool { return stopped(cmd.Process.Pid) })
	if !stopped(cmd.Process.Pid) {
		t.Error("it was asked, and goes on")
	}
}

// Nothing is handed on but the three.
func TestSpawnDescriptors(t *testing.T) {
	secret, err := os.Open("/etc/hostname")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	out, _, err := spawned(t, Spawn{Path: "/bin/sh", Argv: []string{"sh", "-c", "ls -l /proc/$$/fd"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"})
	if err != nil || strings.Contains(out, "hostname") || !strings.Contains(out, "/dev/null") {
		t.Errorf("%q, %v", out, err)
	}
}
