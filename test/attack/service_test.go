package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// What the host offers to whoever comes near.
const (
	canaryPort   = 7437
	hostAddress  = "10.66.0.9"
	abstractName = "canary-abstract"
	keyName      = "canary-key"
	shmKey       = 0x72666e63
)

// network brings the loopback up and gives the host an address besides.
func network() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return err
	}
	if req, err = unix.NewIfreq("lo:1"); err != nil {
		return err
	}
	if err := req.SetInet4Addr(net.ParseIP(hostAddress).To4()); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFADDR, req)
}

// serve opens the services: sockets at all the planted paths, an abstract one, a
// port on each loopback. They live as long as this process.
func (h *host) serve() error {
	addresses := map[string]string{"@" + abstractName: "unix"}
	for _, path := range h.planted("socket") {
		addresses[path] = "unix"
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	for _, ip := range []string{"127.0.0.1", "[::1]", hostAddress} {
		addresses[fmt.Sprintf("%s:%d", ip, canaryPort)] = "tcp"
	}
	for address, network := range addresses {
		l, err := net.Listen(network, address)
		if err != nil {
			return err
		}
		if network == "unix" && address[0] == '/' {
			if err := os.Chmod(address, 0o777); err != nil {
				return err
			}
		}
		go accept(l, h.req.Canary)
	}
	return h.otherTerminal()
}

// otherTerminal opens a terminal that is somebody's, and that all may write to.
func (h *host) otherTerminal() error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	go io.Copy(io.Discard, master)
	return slave.Chmod(0o666)
}

func accept(l net.Listener, canary string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go manage(conn, canary)
	}
}

// manage is a service manager in miniature: like systemd's, it does for a caller
// what the caller asks, outside.
func manage(conn net.Conn, canary string) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(wait.Patience))
	fmt.Fprintln(conn, canary)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if path, ok := strings.CutPrefix(strings.TrimSpace(line), "touch "); ok && err == nil {
		os.WriteFile(path, nil, 0o644)
	}
}

// giver returns a socket whose other end answers with an open secret: a
// descriptor by which a launcher's service would leak more of them.
func (h *host) giver() (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	go func() {
		defer ours.Close()
		if _, err := io.ReadFull(ours, make([]byte, 1)); err != nil {
			return
		}
		secret, err := os.Open(h.home + "/.netrc")
		if err != nil {
			return
		}
		defer secret.Close()
		unix.Sendmsg(int(ours.Fd()), []byte("!"), unix.UnixRights(int(secret.Fd())), nil, 0)
	}()
	return theirs, nil
}

// bequeath gives this thread what a child inherits unseen: a session keyring with
// a key in it. Shared memory of System V lies about in the same way.
func (h *host) bequeath() error {
	// Without a name, which the wrapper of x/sys cannot say: a keyring of its own.
	if _, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); errno != 0 {
		return fmt.Errorf("session keyring: %w", errno)
	}
	const ring = unix.KEY_SPEC_SESSION_KEYRING
	key, err := unix.AddKey("user", keyName, []byte(h.req.Canary), ring)
	if err != nil {
		return fmt.Errorf("plant a key: %w", err)
	}
	for _, id := range []int{key, ring} {
		const everything = 0x3f3f3f3f
		if err := unix.KeyctlSetperm(id, everything); err != nil {
			return fmt.Errorf("open the key to all: %w", err)
		}
	}
	if _, err := unix.SysvShmGet(shmKey, 4096, unix.IPC_CREAT|0o666); err != nil {
		return fmt.Errorf("shared memory: %w", err)
	}
	// Capabilities of an ordinary user's stage end here.
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}
