package grants

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

func socketOf(id string) string { return fmt.Sprintf("@ringfence/%d/%s", os.Geteuid(), id) }

// TestControlFromInside: the socket is not there.
func TestControlFromInside(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	if a := s.Do(order.Order{Do: "unix", At: socketOf(s.ID)}); a.Error == "" || a.Text != "" {
		t.Errorf("inside: %+v", a)
	}
	r := w.Run("--", stage.Ringfence, "requests")
	if strings.Contains(r.Stdout, s.ID) {
		t.Errorf("ringfence requests, inside: %+v", r)
	}
	w.Put("ringfence", read(t, stage.Ringfence), 0o755)
	if r := w.Run("--", "./ringfence", "grant", s.ID, "--host", world.Other); r.Status == 0 || !strings.Contains(r.Stderr, "no session") {
		t.Errorf("ringfence grant, inside: %+v", r)
	}
	control := exec.Command(world.Program(hand.Puppet), "unix", socketOf(s.ID))
	if out, err := control.CombinedOutput(); err != nil || !strings.Contains(string(out), `"session":"`+s.ID+`"`) {
		t.Errorf("control: outside, the same request gets %q, %v", out, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stranger is somebody who must not have a say.
type stranger struct {
	name string
	attr *syscall.SysProcAttr
}

func strangers() []stranger {
	self := []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	group := []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	out := []stranger{
		{"the same user in another user namespace", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: self, GidMappings: group}},
		{"the same user in another PID namespace", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID, UidMappings: self, GidMappings: group}},
	}
	if os.Getuid() == 0 {
		out = append(out, stranger{"another user", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1712, Gid: 1712}}},
			stranger{"root in another PID namespace", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}})
	}
	return out
}

// TestControlStrangers: whoever is not the same user in the same namespaces gets no
// answer, and is no session to the user.
func TestControlStrangers(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	for _, who := range strangers() {
		t.Run(who.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, world.Program(hand.Puppet), "unix", socketOf(s.ID))
			cmd.SysProcAttr = who.attr
			if out, err := cmd.CombinedOutput(); strings.Contains(string(out), s.ID+`"`) {
				t.Errorf("it is answered: %q, %v", out, err)
			}

			squatter := exec.CommandContext(ctx, world.Program(hand.Puppet), "squat", socketOf("squatter00"))
			squatter.SysProcAttr = who.attr
			out, err := squatter.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := squatter.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				squatter.Process.Kill()
				squatter.Wait()
			}()
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			if r := hand.Ringfence(t, w, "requests"); r.Status != 0 || strings.Contains(r.Stdout, "squatter") || !strings.Contains(r.Stdout, s.ID) {
				t.Errorf("requests: %+v", r)
			}
			if r := hand.Ringfence(t, w, "grant", "squatter00", "--host", world.Other, "--always", "--yes"); r.Status == 0 || !strings.Contains(r.Stderr, `no session "squatter00" is running`) {
				t.Errorf("grant: %+v", r)
			}
			if files := kept(t, w); len(files) > 0 {
				t.Errorf("kept: %q", files)
			}
		})
	}
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Error == "" {
		t.Errorf("allowed: %+v", a)
	}
}

// TestControlNetwork: in another network namespace the socket is not there at all.
func TestControlNetwork(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	self := []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	cmd := exec.Command(world.Program(hand.Puppet), "unix", socketOf(s.ID))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET, UidMappings: self}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "refused") {
		t.Errorf("%q, %v", out, err)
	}
}

// TestControlHogs: who connects and says nothing keeps nobody else out for long, and
// who says nonsense is told so.
func TestControlHogs(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	for range 17 { // one more than are heard at a time
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socketOf(s.ID)}); err != nil {
			t.Fatal(err)
		}
	}
	wait.Eventually(t, "somebody else is heard", func() bool { return s.Grant("--host", world.Other).Status == 0 })
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Status != 200 {
		t.Errorf("%+v", a)
	}
}
