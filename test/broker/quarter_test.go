package broker

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/world"
)

// The vendors live in a network of their own, behind a second cable of the world's
// host: at port 443 of every other address the world answers itself. Their servers
// are handlers of this test binary. A process that is in their network opens the
// listening sockets and hands them over.
const (
	worldHost    = "world-host" // under this name the world's host is started
	quarterName  = "broker-quarter"
	quarterDoor  = "@ringfence-test-quarter"
	quarterRange = "203.0.113.192/26"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Args[0] {
	case quarterName:
		err = quarter()
	case worldHost:
		runtime.LockOSThread() // the quarter dies with this thread
		if err = startQuarter(); err == nil {
			world.Main(m, "./client")
		}
	default:
		world.Main(m, "./client")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quarter:", err)
		os.Exit(1)
	}
}

// keptOpen must not be collected: with them the quarter would end.
var keptOpen []any

// startQuarter lays the second cable. It is called where the world's host is about to
// be made, when its network is empty.
func startQuarter() error {
	door, err := net.ListenUnix("unix", &net.UnixAddr{Name: quarterDoor, Net: "unix"})
	if err != nil {
		return err
	}
	file, err := door.File()
	if err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{quarterName}
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: unix.CLONE_NEWNET}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	keptOpen = append(keptOpen, door, file, in, out)
	if err := ip("link set lo up",
		fmt.Sprintf("link add side0 type veth peer name side1 netns %d", cmd.Process.Pid),
		"addr add 198.51.100.1/30 dev side0", "link set side0 up", "route add "+quarterRange+" via 198.51.100.2"); err != nil {
		return err
	}
	fmt.Fprintln(in, "cable")
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open\n" {
		return fmt.Errorf("it did not open: %q, %v", line, err)
	}
	return nil
}

// quarter is the process in the vendors' network.
func quarter() error {
	if line, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil || line != "cable\n" {
		return fmt.Errorf("no cable: %q, %v", line, err)
	}
	if err := ip("link set lo up", "addr add 198.51.100.2/30 dev side1", "link set side1 up",
		"route add local "+quarterRange+" dev lo table main"); err != nil {
		return err
	}
	door, err := net.FileListener(os.NewFile(3, "door"))
	if err != nil {
		return err
	}
	fmt.Println("open")
	for {
		c, err := door.Accept()
		if err != nil {
			return err
		}
		if err := openFor(c.(*net.UnixConn)); err != nil {
			fmt.Fprintln(os.Stderr, "quarter:", err)
		}
		c.Close()
	}
}

// openFor opens the socket that somebody asks for and hands it over.
func openFor(c *net.UnixConn) error {
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp4", string(buf[:n]))
	if err != nil {
		return err
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer f.Close()
	_, _, err = c.WriteMsgUnix([]byte("x"), unix.UnixRights(int(f.Fd())), nil)
	return err
}

// listen opens a port of the vendors' network.
func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: quarterDoor, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, address)
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		t.Fatalf("open %s: %v", address, err)
	}
	l, err := listenerOf(oob[:n])
	if err != nil {
		t.Fatalf("open %s: %v", address, err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func listenerOf(oob []byte) (net.Listener, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, errors.New("no socket came")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	return net.FileListener(f)
}

// ip runs commands of the ip program in this network.
func ip(lines ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Env = []string{"PATH=/usr/sbin:/sbin:/usr/bin:/bin"}
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if path, err := exec.LookPath("/usr/sbin/ip"); err == nil {
		cmd.Path, cmd.Err = path, nil
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, &out)
	}
	return nil
}
